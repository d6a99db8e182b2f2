"""The storage in files that people can read."""
