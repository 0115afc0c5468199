"""Whose doing it is that a job cannot be measured. Standard library only: used in containers.

A program that brings its sandbox down, every time, would otherwise dodge the 0 that it has earned:
what is not measured has no score. A fault of the machine must not cost an honest program its
score. So a job that is lost again and again is run in turn with a program that is known to be
sound, under the same conditions and for as long: what only the job does not survive is the job's.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from .port import KILLED, Job, Outcome
from .toolchains import TOOLCHAINS

#: The limit that a program has run into which no sandbox survives.
LIMIT = "sandbox"

#: After how many losses a job is suspected, and after how many it is found guilty.
_SUSPECTED, _GUILTY = 3, 5
_SUSPECTED_IF_SLOW, _GUILTY_IF_SLOW = 2, 3
#: After how many losses of sound programs nothing can be said: one may be chance.
_HOPELESS = 4
_LONGEST_PROBE_S = 2.0
#: A sound program; in other languages (``Toolchain.sound``), one that takes as long as its tool
#: takes to start.
_SOUND = "import time\ntime.sleep({seconds:.3f})\nprint(42)\n"

Run = Callable[[Job], Outcome]


def settle(attempt: Run, probe: Run, job: Job) -> Outcome:
    """Run a job until it is measured, is found guilty of its losses, or nothing can be said.

    Args:
        attempt: runs a job in a sandbox that has lost none; the outcome has a ``failure`` if the
            job was lost.
        probe: as ``attempt``, for a program that is known to be sound.
        job: to be run.
    """
    late = time.monotonic() + 2 * job.limits.blocked_s
    losses = lost_probes = 0
    while True:
        begun = time.monotonic()
        outcome = attempt(job)
        if not outcome.failure:
            return outcome
        losses += 1
        took, slow = time.monotonic() - begun, time.monotonic() > late
        if losses < (_SUSPECTED_IF_SLOW if slow else _SUSPECTED):
            continue
        if not _survives(probe, job.language, took):
            lost_probes += 1
            if slow or lost_probes >= _HOPELESS:
                return Outcome(failure=f"the sandbox failed again and again: {outcome.failure}")
        elif losses - lost_probes >= (_GUILTY_IF_SLOW if slow else _GUILTY):
            return _at_fault(outcome.failure)


def _survives(probe: Run, language: str, seconds: float) -> bool:
    """Return whether a sound program is measured that runs about as long as the job was there."""
    chain = TOOLCHAINS.get(language)
    program = chain.sound if chain else _SOUND.format(seconds=min(seconds, _LONGEST_PROBE_S))
    return probe(Job(program, "main", language=language)).stdout.strip() == b"42"


def _at_fault(reason: str) -> Outcome:
    limit = "memory" if reason == KILLED else LIMIT
    text = f"SandboxLost: with this program, and only with it, every time: {reason}"
    return Outcome({-1: ("error", ["SandboxLost", text])}, limit=limit, exit_code=1)
