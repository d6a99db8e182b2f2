"""Items of messages: text, calls, results, data, usage."""
