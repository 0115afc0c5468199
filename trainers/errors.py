"""The errors of the trainer. Each message names the value and the next step."""

from __future__ import annotations


class TrainerError(Exception):
    """A run cannot start or go on: a wrong setting, a file, a folder."""


class BackendError(TrainerError):
    """The model or the service behind it failed; what was saved can be resumed."""
