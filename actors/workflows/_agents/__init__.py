"""Agents as participants of a workflow."""
