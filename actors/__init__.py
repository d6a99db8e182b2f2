"""Supervised actors and agent workflows for trio programs."""
