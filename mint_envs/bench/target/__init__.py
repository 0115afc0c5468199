"""The function under test, and the process that it runs in."""
