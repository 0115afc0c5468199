"""Looking at rollouts: in a terminal, as plain text, or on one page for a browser."""
