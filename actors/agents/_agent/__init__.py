"""An agent and its runs."""
