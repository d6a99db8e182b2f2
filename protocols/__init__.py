"""What is said between actors: messages, events, interfaces, codec."""
