"""Where in a text the answer is."""
