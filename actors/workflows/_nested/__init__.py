"""Workflows inside of workflows, as parts of one run."""
