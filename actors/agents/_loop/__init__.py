"""The tool loop: from what a model calls to what it is told, again and again."""
