"""A real language model on this machine: its file, its server, and the client's way to it.

The server is a process of its own, ``_server.py``, since loading a model stops every task of the
process that does it; ``_supervision.py`` keeps it running.
"""
