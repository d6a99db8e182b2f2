"""Tools: what a model can call."""
