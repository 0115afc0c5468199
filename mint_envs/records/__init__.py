"""Files of responses and rewards: scored, read as cases, computed again."""
