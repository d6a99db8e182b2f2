"""What agents remember between runs, and where it is kept."""
