"""Workflows that are functions: decisions in modules without machinery, and a run around them.

`_paths`, `_digest`, `_journal` and `_code` decide; `_run`, `_step`, `_ask` and `_gather` act.
"""
