"""The client of OpenAI's Chat Completions API, and of the servers that speak it.

One file, ``_client.py``, imports openai and waits for the network. All others are pure: they turn
messages into requests, and bytes, chunks and statuses into responses and errors.
"""
