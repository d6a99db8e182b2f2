"""The same work as ours, written for other libraries. Nothing of ours is imported here but the meter."""
