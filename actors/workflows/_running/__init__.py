"""A run: turns, commits, rounds, events, and how it ends."""
