"""Placeholder."""


def equal(wanted: str, given: str) -> bool:
    return False
