"""The clients of OpenAI's two APIs, and of the servers that speak them.

One file, ``_http.py``, imports openai and waits for the network. All others are pure: they turn
messages into requests, and bytes, chunks and statuses into responses and errors.
"""
