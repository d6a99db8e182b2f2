"""Turns: which cell is next, whose task runs it, and who waits for whom."""
