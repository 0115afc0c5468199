"""How calls are written: reading and writing them in every format, and their frame in a chat."""
