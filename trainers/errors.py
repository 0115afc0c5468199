"""The errors of the trainer: one line each, saying what to do next.

TrainerError
`-- BackendError   the model's side failed: a service, a key, a model, a checkpoint
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mint_envs.errors import MintEnvsError


class TrainerError(Exception):
    """Base of every error that the trainer raises on purpose; ``mint-grpo`` exits with 2."""


class BackendError(TrainerError):
    """The backend cannot go on. The message is one line and names the next step."""


@contextmanager
def mistakes_said() -> Iterator[None]:
    """Raise a TrainerError in place of what the environment's side says of a user's mistake."""
    try:
        yield
    except MintEnvsError as error:
        raise TrainerError(str(error)) from error
