"""The definition of a workflow: executors, edges, joins, and what is checked before it may run."""
