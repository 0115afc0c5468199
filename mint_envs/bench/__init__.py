"""``mint-envs bench``: is a reward right, sound, hard to game, and fast enough."""
