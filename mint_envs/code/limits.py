"""What a row says of limits, and the limits of a run that come of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import SettingError
from ..sandbox import Limits

#: What an interpreter takes longer for than the machine code that a contest's limit was made for.
_INTERPRETED = {"python": 5.0, "javascript": 2.0, "java": 2.0}
#: However little is expected, a program may print so much.
_LEAST_OUTPUT = 1 << 20
_MOST_SECONDS, _MOST_MB = 3600.0, 1 << 20


@dataclass(frozen=True, slots=True)
class RowLimits:
    """Limits that a row brings; None: the settings say.

    Args:
        seconds: CPU time of one run.
        memory_mb: MiB of memory.
        output_mb: MiB of output.
        contest: they were made for machine code on another machine: programs get as much time at
            least as the settings say, an interpreter a multiple, and no less memory.
    """

    seconds: float | None = None
    memory_mb: float | None = None
    output_mb: float | None = None
    contest: bool = False

    def of_run(self, seconds: float, memory_mb: int, language: str, expected: str = "") -> Limits:
        """Return the limits of a run; ``seconds`` and ``memory_mb`` are those of the settings.

        A program may print 1 MiB, or twice what is expected: no right program prints more.
        """
        output = int((self.output_mb or 0) * (1 << 20))
        if not output:
            output = max(_LEAST_OUTPUT, 2 * len(expected.encode("utf-8", "surrogatepass")))
        given_s, given_mb = self.seconds or seconds, int(self.memory_mb or memory_mb)
        if self.contest:
            given_s = max(seconds, given_s * _INTERPRETED.get(language, 1.0))
            given_mb = max(memory_mb, given_mb)
        return Limits(float(given_s), given_mb << 20, output)


NO_LIMITS = RowLimits()
LIMIT_KEYS = ("time_limit", "memory_limit", "output_limit")


def read_limits(row: Mapping[str, Any]) -> RowLimits:
    """Return the limits of a row of ours: ``time_limit`` (s), ``memory_limit``, ``output_limit``.

    The last two are MiB.

    Raises:
        SettingError: one is no number, or out of range.
    """
    seconds, memory, output = (
        None if row.get(key) is None else _number(key, row[key]) for key in LIMIT_KEYS
    )
    return RowLimits(seconds, memory, output)


def contest_limits(seconds: Any, memory_mb: Any) -> RowLimits:
    """Return limits as a published set has them, made for a contest's own machine.

    Raises:
        SettingError: as ``read_limits``.
    """
    given = read_limits({"time_limit": seconds or None, "memory_limit": memory_mb or None})
    return RowLimits(given.seconds, given.memory_mb, None, contest=True)


def _number(key: str, value: Any) -> float:
    most = _MOST_SECONDS if key == "time_limit" else _MOST_MB
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.01 <= value <= most:
        raise SettingError(f"{key}={value!r} must be a number from 0.01 to {most:g}")
    return float(value)
