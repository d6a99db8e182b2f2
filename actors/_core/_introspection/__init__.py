"""What a system says about itself: facts, the tree, events."""
