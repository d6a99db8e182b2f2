"""Chat clients: the base, the layers around what a client does itself, one call's way through them."""
