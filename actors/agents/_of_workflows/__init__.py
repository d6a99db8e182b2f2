"""Workflows in the shape of agents."""
