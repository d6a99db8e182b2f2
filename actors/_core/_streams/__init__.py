"""Streams of updates that end in one value, and the buffers between."""
