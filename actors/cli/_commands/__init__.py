"""The commands and their options, one module for each group."""
