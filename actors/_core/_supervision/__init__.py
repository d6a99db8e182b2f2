"""What becomes of children: starts, failures, restarts, ends."""
