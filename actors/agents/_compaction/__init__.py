"""Making conversations shorter without tearing apart what belongs together.

`_groups` says what belongs together, `_strategies` and `_summarize` what is left out, `_apply`
when; all but the summary is decided without asking anybody.
"""
