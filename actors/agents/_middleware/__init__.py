"""Middleware: code around runs of agents, calls of models and calls of tools."""
