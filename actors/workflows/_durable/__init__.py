"""Runs that survive their process: what of a run is stored, when, and how it goes on.

Decisions are in modules that know no machinery (`_signature`, `_ledger`, `_journal`,
`_prefix`); the gate and whoever opens and resumes runs act on them.
"""
