"""The benchmark: every part in turn, and what they found."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from time import monotonic
from typing import Any

from ..errors import did_you_mean, require
from ..records.cases import Matcher
from ..reports.report import Report, Section, Tell
from . import hackable, learning, right, sound, speed
from .hostile import report_statuses
from .kinds import lead_of, with_examples
from .paid import OPEN, learn
from .run import BenchRun, Options, Paid, open_worker, placed, read_files, silent, target_of
from .target.client import TargetVerdict, TimeOver, WorkerDied

PARTS: dict[str, Callable[[BenchRun], Section]] = {
    "right": right.check_correctness,
    "sound": sound.check_soundness,
    "learning": learning.check_learning,
    "hackable": hackable.check_hacks,
    "fast": speed.check_speed,
}


#: In which order they are tried, and by which share of the time each is over at the latest.
_IN_TURN = {"right": 0.5, "hackable": 0.8, "sound": 1.0, "learning": 1.0, "fast": 1.0}
_OF_BATTERY = ("right", "fast")  # what labelled cases tell; the rest wants problems of one form
_LAST_S = 6.0  # after the time is over, for the answer that is being waited for
_LOADING_S = 10.0  # of loading that count as time; what a library takes beyond is its own

#: Of a reward for which nothing that it pays was found.
_UNTRIED = (
    "no response is known that it pays: so nothing is said of what it pays wrongly. Give rows with "
    "a prompt and an answer, or --cases"
)


def bench(
    target: str,
    options: Options | None = None,
    settings: Mapping[str, Any] | None = None,
    progress: Tell | None = None,
    command: str = "",
) -> Report:
    """Benchmark a reward: is it right, sound, useful for learning, fast, and hard to game?

    The reward function runs in a child process, so that one that hangs, exits or runs hostile
    responses is reported and does no harm here.

    Args:
        target: an environment id; ``module:function`` or ``file.py:function`` of any library; a
            task or an adapter class.
        options: see ``Options``.
        settings: of the environment or the task class.
        progress: is told (what, done, total).
        command: how to make the report again.

    Raises:
        SettingError: there is no such target, or it needs problems and has none.
        DatasetError: a file is missing or broken; names line and field.
        WorkerDied: loading the target failed.
    """
    options, began = options or Options(), monotonic()
    if options.battery and not options.only:
        options = replace(options, only=_OF_BATTERY)
    for name in options.only:
        require(name in PARTS, f"part {name!r}. {did_you_mean(name, PARTS)}")
    with ExitStack() as stack:
        run = _open(target, options, settings or {}, progress or silent, stack)
        run.began = max(began, monotonic() - _LOADING_S)
        run.worker.over = run.began + options.within + _LAST_S
        chosen = options.only or tuple(PARTS)
        made = {
            "problems": len(run.items),
            "python": platform.python_version(),
            "machine": platform.machine(),
            "settings": {key: str(value) for key, value in (settings or {}).items()},
        }
        report = Report(target, command, made)
        _understand(run)
        report.lead = lead_of(run) if run.learned else ""
        if run.learned and run.paid is not None and run.paid.kind == "nothing":
            report.untried = _UNTRIED
        # What tells most is tried first, in case the time runs out.
        made_parts = {name: _part(name, run) for name in _IN_TURN if name in chosen}
        report.sections += [made_parts[name] for name in PARTS if name in chosen]
        _what_was_odd(run, report)
        if run.left_out:
            told = ", ".join(f"{count} of {name!r}" for name, count in run.left_out.items())
            report.sections[-1].notes.append(f"Left out, since the time was over or lost: {told}.")
    return report


def try_one(
    target: str, options: Options, settings: Mapping[str, Any], text: str, row: int
) -> TargetVerdict:
    """Return what one response gets, to see a finding again.

    Args:
        target, options, settings: as for ``bench``.
        text: the response; a JSON string or list of turns is read as such.
        row: the number of the problem.

    Raises:
        SettingError: there is no such problem, or what ``bench`` raises.
    """
    with ExitStack() as stack:
        run = _open(target, options, settings, silent, stack)
        require(0 <= row < len(run.items), f"--row {row}: there are {len(run.items)} problems")
        if options.low is None and options.high is None and run.about["function"]:
            run.worker.set_range(-OPEN, OPEN)
        return run.worker.score([(row, turns_in(text))])[0]


def turns_in(text: str) -> tuple[str, ...]:
    """Return the responses that a word of a command stands for."""
    if text[:1] in ('"', "["):
        with suppress(ValueError):
            value = json.loads(text)
            return (value,) if isinstance(value, str) else tuple(map(str, value))
    return (text,)


def _what_was_odd(run: BenchRun, report: Report) -> None:
    """Report what raised, hung or left its range wherever it was seen, if no part has said so."""
    section = Section("sound", "")
    if run.learned:
        report_statuses(run, section, run.odd)
    known = {finding.check for finding in report.findings}
    report.sections[-1].findings += [one for one in section.findings if one.check not in known]


def _understand(run: BenchRun) -> None:
    """Learn what is paid, of functions and of tasks with short answers."""
    kinds = {item.kind for item in run.items}
    attacked = "answer" in kinds and "hackable" in (run.options.only or PARTS)
    if kinds & {"program", "turns"} or not (run.about["function"] or attacked):
        return
    try:
        run.progress("what is paid", 0, 1)
        run.paid = learn(run)
        if run.paid.kind == "nothing":
            _take_aliases(run)
        with_examples(run, run.paid)
        run.progress("what is paid", 1, 1)
    except WorkerDied as error:
        if isinstance(error, TimeOver):
            run.leave_out("what is paid")
        run.paid = Paid("nothing", low=run.options.bounds[0], high=run.options.bounds[1])


def _take_aliases(run: BenchRun) -> None:
    """Where a right answer names several, with bars between, learn what the first of them earns."""
    own = list(run.items)
    run.items[:] = [
        replace(item, given=item.given.partition("|")[0].strip()) if item.given else item
        for item in own
    ]
    if run.items != own:
        before = run.paid
        try:
            run.paid = learn(run)
        finally:
            if run.paid is before or run.paid is None or run.paid.kind != "correctness":
                run.items[:], run.paid = own, before


def _part(name: str, run: BenchRun) -> Section:
    """Return a part of the report; one that cannot be finished says why."""
    run.share = _IN_TURN[name] if not run.options.only else 1.0
    try:
        return PARTS[name](run)
    except TimeOver:
        run.leave_out(f"the part {name!r}")
        return Section(name, "It could not be finished.")
    except WorkerDied as error:
        section = Section(name, "It could not be finished.")
        advice = "Score any response in bounded time, and leave the process alone"
        text = f"this part was given up: {error}"
        section.find("stopped", text, advice, severity="fragile")
        return section


def _open(
    name: str,
    options: Options,
    settings: Mapping[str, Any],
    progress: Tell,
    stack: ExitStack,
) -> BenchRun:
    cases, responses, rows = read_files(options)
    target = target_of(name, settings, options, rows)
    saved = [*cases, *responses]
    progress("loading", 0, 1)
    worker = stack.enter_context(open_worker(target, options, saved))
    items, about = worker.about()
    about["answers"] = any(item.answer is not None for item in items)
    matcher = Matcher(items, rows if about["from_rows"] else ())
    run = BenchRun(target, options, worker, items, about, [], [], progress)
    worker.most_lost_s = options.within / 2
    run.cases = placed(cases, matcher, options.cases)
    run.responses = placed(responses, matcher, options.responses)
    if options.against:
        other = target_of(options.against, {}, options, rows)
        run.reference = stack.enter_context(open_worker(other, options, saved))
        _same_problems(run)
    progress("loading", 1, 1)
    return run


def _same_problems(run: BenchRun) -> None:
    """Two targets are compared on the same prompts, in the same places."""
    assert run.reference is not None
    theirs = [item.prompt for item in run.reference.about()[0]]
    require(
        theirs == [item.prompt for item in run.items],
        f"{run.target.name!r} and {run.options.against!r} have other problems: compare two "
        "functions on --data, --cases or --responses, or two environments with the same prompts",
    )
