"""Work that blocks, and sockets that libraries without trio have opened."""
