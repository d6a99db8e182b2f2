"""How fast we are, beside bare trio and beside others: ``python -m bench``.

One module per question (`bench.mailbox`, `bench.superstep`, …). What runs in a peer's own virtual
environment, where none of our dependencies are, is in `bench.peer_scripts`.
"""
