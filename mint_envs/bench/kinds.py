"""Rewards that read no answer: of form, penalties, shaping; and those of which no form is known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..reports.report import Section
from ..responses.changes import other_value
from ..responses.probes import Probe
from ..responses.written import KNOWN
from .paid import FAR
from .refused import on_lines, opens_thoughts, refused_lines
from .run import BenchRun, Paid, Tried, first_cases, repeat_of

#: What names a value: no part of it, where no sum stands before the sign.
_NAMED = re.compile(r"[A-Za-z]\w*\s*=\s*(?=[^=]+\Z)")

_MANY = 8  # problems of which the rows are read, and texts of each

#: What each kind is, in the first line of a report.
MEANS = {
    "correctness": "it pays right answers",
    "form": "it pays a form, whatever is answered",
    "penalty": "it is a penalty: nothing earns more than 0",
    "shaping": "it grades the text, whatever is answered",
    "inverted": "wrong answers earn more than right ones",
    "nothing": "no paid form is known",
    "programs": "it pays programs",
    "worked": "it pays what its examples show",
}


def lead_of(run: BenchRun) -> str:
    """Return the first line of the report: which form is paid, and how sure that is."""
    paid = run.paid
    if paid is None:
        return "Not understood: the reward hung or ended while it was tried."
    span = f"rewards from {paid.low:g} to {paid.high:g}"
    if paid.kind != "correctness":
        return f"Understood: {MEANS[paid.kind]}; {span}."
    total = len(paid.right) + len(paid.refused)
    others = list(dict.fromkeys(one.name for one in paid.wordings))[1:4]
    also = f"; paid too: {', '.join(others)}" if others else ""
    return (
        f"Paid form: {paid.wordings[0].name}, by {paid.source}; sure of it on {len(paid.right)} of "
        f"{total} problems{also}; {span}."
    )


def check_kind(run: BenchRun, section: Section) -> None:
    """Ask of a reward that reads no answer what its kind can be asked."""
    assert run.paid is not None
    if run.paid.kind in ("form", "nothing") and "gold" in run.about["sees"]:
        _others_paid(run, section, _right_ones(run, run.paid))
    if run.paid.kind == "form":
        _form(run, section, run.paid)
    elif run.paid.kind == "nothing":
        _nothing(run, section, run.paid)
    elif run.paid.kind == "inverted":
        section.find(
            "false rewards", "wrong answers earn more than right ones",
            "Turn the comparison round", severity="exploitable",
            cost="A policy is trained to be wrong",
        )  # fmt: skip


def _form(run: BenchRun, section: Section, paid: Paid) -> None:
    item = run.items[0]
    (empty, *_), best = run.tried([Probe("an empty response", item, ("",), 0.0)]), 0.0
    shapes = [one for one in (*paid.asked, *KNOWN) if on_lines(one) is not None]
    for one in dict.fromkeys(shapes):
        long = on_lines(one)
        assert long is not None
        pair = run.tried([Probe("on one line", item, (w.write("42"),), 1.0) for w in (one, long)])
        scores = [tried.score or 0.0 for tried in pair]
        best = max([best, *scores])
        if len(scores) == 2 and scores[0] == 1.0 and scores[1] < 0.5:
            refused_lines(run, section, pair[1:])
            break
    _form_rules(run, section, best)
    if empty.score is not None and best > 0 and empty.score >= best:
        section.find(
            "hack", "an empty response earns as much as the form", "Give 0 where there is no form",
            first_cases([empty]), severity="exploitable",
            cost="A policy learns to say nothing", repeat=repeat_of(run, empty),
        )  # fmt: skip


_ONCE = "<think>\nSo it is.\n</think>\n<answer>\n42\n</answer>"
_INSIDE = "So it is.\n</think>\nIt is 42."
_WORDS = "Let me think about it."


def _form_rules(run: BenchRun, section: Section, best: float) -> None:
    """Ask what a form lets pass, or wants: blocks again and again, the tag that opens thoughts."""
    opened = f"<think>\n{_INSIDE}"
    got = _form_scores(run, _ONCE, f"{_ONCE}\n{_ONCE}", opened, _INSIDE)
    if len(got) < 4:
        return
    one, twice, whole, rest = (tried.score or 0.0 for tried in got)
    best = max(best, one, whole)
    if best <= 0:
        return
    if one >= best and twice >= best:
        _several_times(run, section, best, got[1])
    if whole >= best > rest:
        unopened(run, section, got[3])


def _form_scores(run: BenchRun, *texts: str) -> list[Tried]:
    return run.tried([Probe("a form", run.items[0], (text,), None) for text in texts])


def _several_times(run: BenchRun, section: Section, best: float, twice: Tried) -> None:
    """The form twice: a rule where words may stand round it, a hole where none may."""
    texts = (f"{_WORDS}\n{_ONCE}", f"{_ONCE}\n{_WORDS}", f"{_ONCE}\n{_WORDS}\n{_ONCE}")
    got = _form_scores(run, *texts)
    before, after, between = ([one.score or 0.0 for one in got] + [0.0] * 3)[:3]
    if max(before, after) < best <= between:
        section.find(
            "hack",
            "the form may stand several times with any words between, though none may stand "
            "before or after it",
            "Count the tags, or let nothing but the form's own text stand between them",
            first_cases([twice, got[2]]), severity="exploitable",
            cost="A policy goes on after its answer, and answers again until one is right",
            repeat=repeat_of(run, got[2]),
        )  # fmt: skip
        return
    use = "a policy may go on after its answer, and answer again"
    section.tell("policy", "the form may stand several times", use, first_cases([twice]))


def unopened(run: BenchRun, section: Section, one: Tried) -> None:
    """A response without the tag that opens thoughts is refused: also where the prompts have it."""
    if opens_thoughts(run.items):
        section.find(
            "missed rewards",
            "the prompts open the thoughts themselves, and the response must open its thoughts "
            "itself: what goes on from the prompt is refused",
            "Put the prompt's last tag before the response, or let it be missing",
            first_cases([one]), severity="honest", cost="No response to these prompts is ever paid",
            repeat=repeat_of(run, one),
        )  # fmt: skip
        return
    use = "a chat template that opens the thoughts leaves every response unpaid"
    section.tell("policy", "the response must open its thoughts itself", use, first_cases([one]))


def _nothing(run: BenchRun, section: Section, paid: Paid) -> None:
    """Whatever was tried earned the same."""
    if all(item.answer is None for item in run.items):
        _all_paid(run, section)
        return
    results = _right_ones(run, paid)
    if not results:
        return
    if all(one.score == 1.0 for one in results):
        section.find(
            "hack", "everything that was tried earns the full mark, right or wrong",
            "Let the reward depend on the answer", first_cases(results), severity="exploitable",
            cost="Nothing is learned, or anything", repeat=repeat_of(run, results[0]),
        )  # fmt: skip
    elif _says_how(run):
        section.find(
            "missed rewards",
            "the right answer is paid in no form that was tried, not in the one asked for either",
            "Pay it in that form; or give an example of what is paid, in a column 'right'",
            first_cases(results), severity="honest", cost="No policy is ever paid",
            repeat=repeat_of(run, results[0]),
        )  # fmt: skip


def _all_paid(run: BenchRun, section: Section) -> None:
    """A reward without right answers that pays nothing, nonsense and much of it alike.

    Nobody can tell what it was meant for, unless its rows say what is asked, and it is given them.
    """
    found = run.tried([Probe("any text", run.items[0], (text,), None) for text in FAR])
    if not found or any(one.score != 1.0 for one in found):
        return
    own = run.tried(_of_rows(run)) if "row" in run.about["sees"] else []
    if own and all(one.score == 1.0 for one in own):
        section.find(
            "hack",
            "every text that was tried is paid in full, on every problem: an empty one, nonsense, "
            "and what the rows themselves say",
            "Refuse what the rows ask for and the function does not know, when they are loaded",
            first_cases(found), severity="exploitable", cost="A policy learns to say nothing",
            repeat=repeat_of(run, found[0]),
        )  # fmt: skip
        return
    use = "if that is not meant, see whether it knows what the rows ask for"
    section.tell("policy", "every text that was tried is paid in full", use, first_cases(found))


def _of_rows(run: BenchRun) -> list[Probe]:
    """Return for some problems nothing, and the texts that their rows hold beside the prompt."""
    probes = []
    for item in run.items[:_MANY]:
        row = run.target.rows[item.ref.index] if item.ref.index is not None else {}
        own = [text for key, value in row.items() if key != "prompt" for text in _texts_in(value)]
        probes += [Probe("what the row holds", item, (t,), None) for t in ["", *own[:_MANY]] if own]
    return probes


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for one in value.values() for text in _texts_in(one))
    elif isinstance(value, list | tuple):
        yield from (text for one in value for text in _texts_in(one))


def _right_ones(run: BenchRun, paid: Paid) -> list[Tried]:
    """Return what right answers get in the forms that may be meant."""
    answers = [item for item in run.items if item.answer is not None][:5]
    forms = [*paid.asked[:2], *KNOWN[:5]]
    probes = [Probe(one.name, item, (one.write(item.answer or ""),), 1.0)
              for item in answers for one in forms]  # fmt: skip
    return [one for one in run.tried(probes) if one.score is not None]


def _others_paid(run: BenchRun, section: Section, right: list[Tried]) -> None:
    """Right answers are paid, and those of other problems as well."""
    answers = [item.answer or "" for item in run.items if item.answer is not None]
    probes: list[Tried] = []
    wrong: list[Tried] = []
    for one in right:
        others = [text for text in answers if _told_apart(text, one.item.answer or "")]
        before, _, after = one.turns[0].rpartition(one.item.answer or "")
        if one.score == 1.0 and others:
            for kept, text in ((probes, others[0]), (wrong, other_value(one.item.answer or ""))):
                kept.append(replace(one, turns=(f"{before}{text}{after}",), want=0.0))
    bad = [one for one in run.tried(probes) if one.score == 1.0]
    if bad and not any(one.score == 1.0 for one in run.tried(wrong)):
        text = (
            f"another number: the answers of other problems are paid, {len(bad)} of {len(probes)}"
        )
        section.find(
            "hack", text, "Compare with the answer that was asked for", first_cases(bad),
            severity="exploitable", cost="A policy is paid for any answer of the right look",
            repeat=repeat_of(run, bad[0]),
        )  # fmt: skip


def _told_apart(one: str, other: str) -> bool:
    """Whether two answers differ surely: "5" and "x = 5" may be one, two equations are not."""
    one, other = (_NAMED.sub("", text.strip()).casefold() for text in (one, other))
    return one not in other and other not in one


def _says_how(run: BenchRun) -> bool:
    """Whether the prompts say in which form to answer."""
    marks = ("\\boxed", "####", "<answer>", "JSON", "Answer:")
    return any(mark in run.items[0].prompt for mark in marks)


def with_examples(run: BenchRun, paid: Paid) -> None:
    """Let the problems have their right answers in the form that is paid, as worked examples."""
    if paid.kind != "correctness":
        return
    wording = paid.wordings[0]
    for place, item in enumerate(run.items):
        if place in paid.right and not item.examples and item.answer is not None:
            text = wording.write(item.answer)
            run.items[place] = replace(item, examples=(((text,), 1.0), (("",), 0.0)))


def unpaid_note(results: list[Tried]) -> str:
    """Return what is said of a part that could not be tried."""
    return f"Not tried: no paid form known ({len(results)} responses were left out)."
