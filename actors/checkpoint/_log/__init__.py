"""The log of a run: values to parts and back, commits, what is kept. No storage is known here."""
