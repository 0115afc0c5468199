"""Wrong answers in the form that is paid, and paid all the same."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from ..reports.report import Section, Table
from ..responses import attacks as make
from ..responses.attacks import FAULT, Attack
from ..responses.items import Item
from ..responses.probes import Probe
from ..responses.written import Wording
from .run import BenchRun, Paid, Tried, first_cases, repeat_of
from .stats import rate_text

_ITEMS = 6  # problems on which everything is tried
_HALF = 0.7  # of the way from a wrong answer to a right one: what no wrong sign may earn
_MOST, _WHOLE = 0.9, 1 - 1e-7
_SIGN = "the other sign"
_STRICTER = {_SIGN, "digits in another order"}
_NEAR = ("another number", "a fraction after it", "part of a longer word", "more digits")

_WRONG = "wrong answers in the form"
_COPIES = 3  # responses that are each scored in a process of their own

_KNOWS = "It knows the answer, so nothing is gained by it; but it is paid for a bad habit"
_BLIND = "A policy is paid for it without knowing the answer, and learns it first"
_HEDGES = "A policy that is not sure is paid for naming several answers"

_LONGER = "An answer that is another number is paid, if it begins or ends as the right one does"
_WHOLE_ANSWER = "Compare the whole answer (fullmatch, ==), not a number that is found in it"

#: By group: (what it costs a policy, how to mend it).
_MEND: Mapping[str, tuple[str, str]] = {
    "several answers": (_HEDGES, "Take one answer; refuse a form that holds two"),
    "several answers, in a list": (_HEDGES, "Take one value, and refuse a list"),
    "every number in a row": (_HEDGES, "Take one answer, the last that is meant"),
    "the form twice": (_HEDGES, "Take the last form, or refuse two; never the first or any"),
    "an answer withdrawn": (_HEDGES, "Take the answer that is meant last"),
    "an answer denied": (_KNOWS, "Read the answer as a whole, not a part of it"),
    "mentioned in passing": (_HEDGES, "Take the answer that is meant last"),
    make.CODE: (_BLIND, "Never eval or exec a response"),
    "the sum of the prompt": (_BLIND, "Read plain values; do not work out what a response holds"),
    **dict.fromkeys(
        (
            "more digits",
            "a fraction after it",
            "a power of ten after it",
            "digits after an underscore",
            "a root after it",
        ),
        (_LONGER, _WHOLE_ANSWER),
    ),
    "part of a longer word": (_BLIND, "Compare the whole answer, not a part of it"),
    "a part of the answer": (_BLIND, "Compare for equality; `x in answer` is true for any part"),
    "no number at all": (_BLIND, "Refuse NaN and infinity; compare with ==, not with not >"),
    make.UNENDED: (_HEDGES, "Read nothing of thoughts that do not end"),
    "an empty response": (_BLIND, "Give 0 where no answer was found"),
    "no answer in the form": (_BLIND, "Give 0 where no answer was found"),
    "another number": (_BLIND, "Compare exactly, or with a tolerance far below 1"),
}
_AFTER_IT = ("a fraction after it", "a power of ten after it", "digits after an underscore",
             "a root after it", "more digits")  # fmt: skip
_MENDED = (_BLIND, "Let the reward depend on the answer that was asked for")

#: What the rule "the last answer counts" pays, where it counts in any words.
_BY_THE_LAST = (
    "an answer denied, last",
    "an answer denied, in the form",
    "several answers in the form, the right one last",
)
_GLUED = ("a power of ten after it", "digits after an underscore", "a root after it")
_POLICIES = {
    "a power of ten after it":
        ("letters right after the number are not read", "nothing is gained by them"),
    "a root after it":
        ("what comes right after the number is not read", "nothing is gained by it"),
    "digits after an underscore":
        ("an underscore ends the number", "nothing is gained by it"),
    "several answers in the form, the right one last":
        ("the last answer counts", "a policy may change its mind; it cannot hedge by it"),
    "an answer denied, in the form":
        ("the last answer counts", "words like 'not' before it are not read"),
    "several answers in the form, the right one first":
        ("the first word after the mark counts", "what follows it on the line is not read"),
    "the form twice, the right answer last":
        ("the last form counts", "a policy may change its mind; it cannot hedge by it"),
    "the form many times, the right answer last":
        ("the last of many forms counts", "a policy may try many answers aloud"),
    "several answers, the right one last":
        ("the last answer counts", "a policy may change its mind; it cannot hedge by it"),
    "denied in the last box":
        ("the last box counts", "words like 'not' before it are not read"),
    "denied round the form":
        ("what stands round the form is not read", "a denied answer in the form is paid"),
    "withdrawn after the form":
        ("what follows the form is not read", "an answer that is withdrawn in words is paid"),
    make.UNENDED:
        ("an answer in thoughts counts", "a response that is cut off while it thinks is paid"),
    make.ENDED:
        ("thoughts are read as the response is", "what is only thought of is paid"),
    "an expression for the answer":
        ("expressions are worked out", "a policy may leave the last step to the reward"),
    "an answer denied, last":
        ("the last answer counts", "words like 'not' before it are not read"),
}  # fmt: skip


def chosen(run: BenchRun) -> list[Item]:
    """Return the problems on which everything is tried: spread, and paid when right."""
    assert run.paid is not None
    items = [item for item in run.items if item.index in run.paid.right]
    step = max(1, len(items) // _ITEMS)
    return items[::step][:_ITEMS]


def forms_to_attack(paid: Paid) -> list[Wording]:
    """Return the first form, and one of the other kind, loose or marked, if that is paid too."""
    first, *others = paid.wordings
    return [first, *[one for one in others if one.loose != first.loose][:1]]


# -- wrong, and paid ----------------------------------------------------------------------------


def check_wrong_answers(run: BenchRun, section: Section) -> None:
    """Attack the form that is paid, and report by kind what is paid."""
    assert run.paid is not None
    means: dict[str, str] = {}
    results: list[Tried] = []
    for wording in forms_to_attack(run.paid):
        found = list(_attacks(run, wording))
        means |= {attack.group: attack.means for _, attack in found}
        probes = [Probe(one.group, item, (one.text,), 0.0) for item, one in found]
        # What may run in the reward's process is tried in copies of it.
        code = [one for one in probes if one.name == make.CODE]
        results += run.tried(code[:_COPIES], _WRONG, apart=True)
        results += run.tried([one for one in probes if one.name != make.CODE], _WRONG)
    results += _answers_of_others(run)
    groups = grouped(results)
    _run_inside(section, results)
    bar = _bar(section, run.paid, groups)
    paid = {name: [o for o in group if bar(o)] for name, group in groups.items()}
    _settle_last(means, paid)
    _settle_open(means, paid, run.paid)
    _settle_thoughts(means, groups, paid)
    for name, bad in paid.items():
        if bad and means.get(name, FAULT) == FAULT:
            _fault(run, section, name, bad, len(groups[name]))
        elif bad:
            what, use = _POLICIES[name]
            section.tell(
                "policy", f"{what} ({name})", use, first_cases(bad), repeat_of(run, bad[0])
            )
    rows = [[name, rate_text(len(paid[name]), len(group))] for name, group in groups.items()]
    section.tables.append(Table("Wrong answers in the form that is paid", ["kind", "paid"], rows))


def _attacks(run: BenchRun, wording: Wording) -> Iterator[tuple[Item, Attack]]:
    items = chosen(run)
    for item in items:
        answer = item.answer or ""
        seen = {answer, wording.write(answer)}
        made = [
            *make.content_attacks(wording, answer, item.prompt),
            *make.structure_attacks(wording, answer),
            *make.empty_attacks(wording, answer, item.prompt, answer not in item.prompt),
        ]
        for attack in made:
            if attack.text not in seen and not _cut(run, attack.text):
                seen.add(attack.text)
                yield item, attack


def _cut(run: BenchRun, text: str) -> bool:
    """Whether a task ends a response before this one ends: the rest is never sampled."""
    return any(mark in text.strip() for mark in run.about["stop"])


def _answers_of_others(run: BenchRun) -> list[Tried]:
    """The right answers of other problems, in the form."""
    assert run.paid is not None
    items, wording = chosen(run), run.paid.wordings[0]
    probes = [
        Probe("the answer of another problem", item, (wording.write(other.answer or ""),), 0.0)
        for item, other in zip(items, [*items[1:], *items[:1]], strict=True)
        if other.answer != item.answer
    ]
    return run.tried(probes, "answers of other problems")


def grouped(results: Iterable[Tried]) -> dict[str, list[Tried]]:
    """Return the results by name, in order."""
    found: dict[str, list[Tried]] = defaultdict(list)
    for one in results:
        found[one.name].append(one)
    return found


def _run_inside(section: Section, results: Sequence[Tried]) -> None:
    """A response that stood in the form was run where the reward is computed."""
    ran = [one for one in results if one.ran]
    if ran:
        section.find(
            "in-process exec", "what stands in the form is run as code in the reward's process",
            "Never eval or exec a response: read a plain value", first_cases(ran),
            severity="exploitable", cost="A policy can change the verdict, and the machine",
        )  # fmt: skip


def _bar(
    section: Section, paid: Paid, groups: Mapping[str, Sequence[Tried]]
) -> Callable[[Tried], bool]:
    """Return what tells whether a wrong answer is paid as if it were right.

    Where near answers earn a part, which authors choose, only the whole mark tells.
    """
    near = [one for name in _NEAR for one in groups.get(name, ())]
    some = [one for one in near if paid.is_full(one.item, one.score, 0.05)]
    graded = [one for one in some if not paid.is_full(one.item, one.score, _WHOLE)]
    if len(graded) * 4 > len(near):
        use = "a policy is led towards the answer; what is wrong never earns the whole mark"
        section.tell("policy", "nearly right answers earn a part", use, first_cases(graded))

    def is_paid(one: Tried) -> bool:
        # What has the other sign is no near answer, where a part is paid for those.
        whole = (graded and one.name != _SIGN) or one.name in _NEAR
        share = _WHOLE if whole else _HALF if one.name in _STRICTER else _MOST
        return paid.is_full(one.item, one.score, share)

    return is_paid


def _settle_last(means: dict[str, str], paid: Mapping[str, Sequence[Tried]]) -> None:
    """Where the last answer counts, a denied one that comes last is paid by that rule."""
    last = "several answers, the right one last"
    first = ("several answers, the right one first", "an answer withdrawn")
    if paid.get(last) and not any(paid.get(name) for name in first):
        for name in _BY_THE_LAST:
            means[name] = make.POLICY


def _settle_open(means: dict[str, str], paid: Mapping[str, Sequence[Tried]], known: Paid) -> None:
    """Where nothing closes the form, its first word may count, and that only: no hedge."""
    first, last = (f"several answers in the form, the right one {at}" for at in ("first", "last"))
    is_open = not known.wordings[0].loose and not known.wordings[0].after
    if is_open and not paid.get(last):
        means |= dict.fromkeys((first, *_GLUED), make.POLICY)


def _settle_thoughts(
    means: dict[str, str],
    groups: Mapping[str, Sequence[Tried]],
    paid: Mapping[str, Sequence[Tried]],
) -> None:
    """Where thoughts are left out if they end, one that is cut off may not be paid for them.

    What is said after the form is not what is minded there: that is paid.
    """
    others = len(groups.get(make.ENDED, ())) and not paid.get(make.ENDED)
    if others and paid.get("withdrawn after the form"):
        means[make.UNENDED] = FAULT


def _fault(run: BenchRun, section: Section, name: str, bad: Sequence[Tried], total: int) -> None:
    cost, advice = next((row for key, row in _MEND.items() if name.startswith(key)), _MENDED)
    said = f"the right answer with {name}" if name in _AFTER_IT else name
    text = f"{said}: {len(bad)} of {total} are paid as if they were right"
    section.find(
        "hack", text, advice, first_cases(bad),
        severity="exploitable", cost=cost, repeat=repeat_of(run, bad[0]),
    )  # fmt: skip


# -- other golds ----------------------------------------------------------------------------------

#: (kind of gold, gold, wrong answers to it); a wrong one that is paid is a fault on any gold.
_GOLDS = (
    ("that cannot be read", "see the figure", ("nothing of the kind", "I do not know", "358")),
    ("that is a large number", "13535", ("13536", "13534")),
    ("that is a larger number", "1000000", ("1000001", "999999")),
    ("that is negative", "-18", ("18",)),
    ("that is a decimal", "2.5", ("25", "2", "2.6", "5")),
    ("with a comma", "1,234", ("1", "234", "1,235")),
    ("that is a fraction", "3/4", ("3", "4", "4/3", "3/5")),
    ("that is zero", "0", ("", "7", "None")),
    ("that is a word", "Paris", ("Pariser", "P", "sirap")),
)


def check_other_golds(run: BenchRun, section: Section) -> None:
    """Put other right answers into a row: wrong answers to them must not be paid either."""
    paid = run.paid
    items = chosen(run)
    if paid is None or not run.about["from_rows"] or "gold" not in run.about["sees"] or not items:
        return
    item, wording, unpaid = items[0], paid.wordings[0], []
    numbers = sum(make.is_number(one.answer or "") for one in items) * 2 > len(items)
    for kind, gold, wrong in _GOLDS:
        if numbers == (kind == "that is a word"):
            continue  # of words, numbers tell nothing; of numbers, words
        texts = [wording.write(gold), *map(wording.write, wrong)]
        probes = [Probe(f"a gold {kind} ({gold!r})", item, (text,), None) for text in texts]
        results = run.tried(probes, "other golds", gold=gold)
        if not results:
            return
        right, *others = results
        full = right.score if paid.is_full(item, right.score, 0.5) else paid.top
        bad = [one for one in others if one.score is not None and one.score >= (full or 1) - 1e-7]
        if bad:
            said = _quoted_answers(bad)
            text = f"where the right answer is one {kind} ({gold!r}), {said} paid in full"
            section.find(
                "gold", text, "Give None where the right answer cannot be read; compare exactly",
                first_cases(bad), severity="exploitable",
                cost="Every such problem of a data set pays whatever is said",
            )  # fmt: skip
        if right.score is not None and not paid.is_full(item, right.score, 0.5):
            unpaid.append(f"{kind} ({gold!r})")
    if unpaid:
        section.notes.append(f"Never paid in this form are golds {', '.join(unpaid)}.")


def _quoted_answers(bad: Sequence[Tried]) -> str:
    texts = ", ".join(repr(one.turns[-1]) for one in bad)
    return f"{texts} {'is' if len(bad) == 1 else 'are'}"
