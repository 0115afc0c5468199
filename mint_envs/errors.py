"""The errors of mint_envs. A user's mistake raises one of these; model text never does.

    MintEnvsError
    |-- SettingError (ValueError)      a wrong setting; the message names the valid ones
    |-- DatasetError (ValueError)      a file that is missing, empty or broken; names the line
    |-- IndexOutOfRange (IndexError)   a problem index that the data set does not have
    |-- TokenizerError (ValueError)    a tokenizer that cannot be loaded or cannot frame a turn
    |-- RewardError (ValueError)       a task returned a reward outside the contract
    |-- ContractError (AssertionError) the conformance kit found a fault
    |-- SandboxUnavailable             no sandbox of the wanted kind works on this machine
    `-- Unmeasured                     a reward is None where only an error can say so (interop)

    GraderFault (RuntimeWarning)       a grader crashed on a response, which then scored 0

Gymnasium's own ``ResetNeeded`` is raised for a step before ``reset`` or after the end of an
episode, since that is the error its users already catch.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any


class MintEnvsError(Exception):
    """Base of every error that this package raises on purpose."""


class SettingError(MintEnvsError, ValueError):
    """A setting has a wrong name or value."""


class DatasetError(MintEnvsError, ValueError):
    """A data set is missing, empty, or has a broken row."""


class IndexOutOfRange(MintEnvsError, IndexError):
    """``options={"index": i}`` names a problem that does not exist."""


class TokenizerError(MintEnvsError, ValueError):
    """A tokenizer cannot be loaded, or its chat template cannot be used turn by turn."""


class RewardError(MintEnvsError, ValueError):
    """A reward is not a finite number in [0, 1] (or None), or its parts are not."""


class ContractError(MintEnvsError, AssertionError):
    """The conformance kit found that a task or an environment breaks the contract.

    ``findings`` holds them one by one; the message lists them all.
    """

    def __init__(self, message: str, findings: tuple[Any, ...] = ()) -> None:
        super().__init__(message, findings)
        self.findings = findings

    def __str__(self) -> str:
        return str(self.args[0])


class SandboxUnavailable(MintEnvsError):
    """No sandbox of the wanted kind works here; the message says what is missing."""


class Unmeasured(MintEnvsError):
    """A reward could not be measured, and the library that asked knows no other way to hear it."""


class GraderFault(RuntimeWarning):
    """A grader crashed on a response. It scored 0, since a run must go on; please report it."""


def require(condition: bool, message: str) -> None:
    """Raise ``SettingError(message)`` unless ``condition`` holds."""
    if not condition:
        raise SettingError(message)


def first_line(error: Exception) -> str:
    """Return the first line of what an error says, or else its kind."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def nearest(name: str, valid: Iterable[str]) -> str:
    """Return the one of ``valid`` that ``name`` is most like, or ``""``."""
    return next(iter(difflib.get_close_matches(name, list(valid), n=1)), "")


def did_you_mean(name: str, valid: Iterable[str]) -> str:
    """Return ``"Did you mean 'x'? Valid: ..."`` for an unknown ``name``."""
    names = sorted(valid)
    close = nearest(name, names)
    hint = f"Did you mean {close!r}? " if close else ""
    return f"{hint}Valid: {', '.join(names) or '(none)'}."
