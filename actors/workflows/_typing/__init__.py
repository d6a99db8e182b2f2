"""What declared types mean: for a handler, along an edge, for an answer."""
