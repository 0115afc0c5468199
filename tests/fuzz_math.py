"""Fuzz the grader of mathematics: nothing raises, nothing is slow, verdicts are an equivalence.

python tests/fuzz_math.py                    # 30 minutes of CPU, seed 0
python tests/fuzz_math.py --minutes 1 --seed 7

Four sources, in turn: soup of LaTeX and phrases, answers of the test data with pieces changed, one
or two pieces repeated up to the limits, and any Unicode. Verdicts on answers are to be symmetric;
and reflexive and transitive on triples of short ones, but for what is forgiven on purpose: a name
or unit that is missing, a percentage, a rounding. What is wrong is printed with the inputs and a
seed that brings it back; ends with 1 if anything was. Time is CPU time: load is no fault.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import re
import sys
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from test_math_properties import MOST_CPU_S, PIECES, cpu_seconds

from mint_envs.core import Reward
from mint_envs.math import grade
from mint_envs.math.grade import _read, answer_of_solution, judge
from mint_envs.math.letters import said_of
from mint_envs.math.question import formulas

_DATA = Path(__file__).parent / "data"
_SIGNS = list(" \t\n,.;:!?$_*-+=<>()[]{}|\\/'\"^%&#`0123456789abxyzAB½√²−年答选是，。")
_FRAMES = ("{}", "\\boxed{{{}}}", "so the answer is {}.", "#### {}", "<answer>{}</answer>", "${}$")
Pair = tuple[str, str]


def texts() -> list[str]:
    """Every gold answer and response of the test data, short ones first."""
    found = set()
    for path in sorted(_DATA.glob("math_*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            found |= {value for value in row.values() if isinstance(value, str)}
    return sorted(found, key=lambda text: (len(text), text))


def pieces(rng: random.Random, most: int) -> str:
    glue = rng.choice(("", " ", "\n"))
    return glue.join(rng.choices(PIECES, k=rng.randint(0, most)))


def soup(rng: random.Random, known: list[str]) -> Pair:
    return pieces(rng, 40), rng.choice(_FRAMES).format(pieces(rng, 60))


def changed(rng: random.Random, known: list[str]) -> Pair:
    """A known text, with spans cut, doubled, moved or replaced."""
    gold, text = rng.choice(known), rng.choice(known)
    for _ in range(rng.randint(1, 6)):
        at, to = sorted(rng.choices(range(len(text) + 1), k=2))
        new = (pieces(rng, 3), text[at:to] * 2, "", rng.choice(known)[:200], gold)
        text = text[:at] + rng.choice(new) + text[to:]
    return (gold, text) if rng.random() < 0.5 else (text[:2500], rng.choice(_FRAMES).format(gold))


def repeated(rng: random.Random, known: list[str]) -> Pair:
    """Pieces repeated: what grows faster than its text shows here."""
    length = int(10 ** rng.uniform(1, 5.7))
    unit = _unit(rng)
    body = unit * (length // len(unit) + 1)
    if rng.random() < 0.5:
        closing = _unit(rng)
        body += rng.choice(("", "5", "x")) + closing * (length // len(closing) + 1)
    gold = body[: rng.randint(1, 2100)] if rng.random() < 0.5 else rng.choice(known)
    body = pieces(rng, 4) + body + pieces(rng, 2) if rng.random() < 0.5 else body
    return gold, rng.choice(_FRAMES).format(body)


def _unit(rng: random.Random) -> str:
    """Something to repeat: a few signs, which is what patterns choke on, or a few pieces."""
    if rng.random() < 0.6:
        return "".join(rng.choices(_SIGNS, k=rng.randint(1, 3)))
    return pieces(rng, 3) or "("


def unicode(rng: random.Random, known: list[str]) -> Pair:
    def text(most: int) -> str:
        top = rng.choice((0x7F, 0x2FF, 0xFFFF, 0x10FFFF))
        return "".join(chr(rng.randint(0, top)) for _ in range(rng.randint(0, most)))

    return text(60), rng.choice(_FRAMES).format(text(400))


SOURCES = (soup, changed, repeated, unicode)


def timed(gold: str, response: str) -> tuple[Reward, float]:
    """Return the verdict and its seconds of CPU, nothing remembered from before.

    A long reading is taken again, and said: what is slow is slow each time, a machine is not.
    """
    _read.cache_clear()
    start = time.thread_time()
    reward = grade(gold, response, sympy=False)
    spent = time.thread_time() - start
    if spent > MOST_CPU_S:
        least = cpu_seconds(gold, response)
        print(
            f"one reading of {spent:.3f} s, then {least:.3f} s: {(gold, response)!r:.300}",
            flush=True,
        )
        spent = min(spent, least)
    return reward, spent


def faults(gold: str, response: str, reward: Reward, spent: float) -> Iterator[str]:
    """Say what is wrong with the verdict on one pair."""
    verdict, reason = reward.metadata["verdict"], reward.metadata["reason"]
    if reward.score not in (0.0, 1.0) or (reward.score == 1) != (verdict == "equal"):
        yield f"score {reward.score} with {reward.metadata}"
    if reason.startswith("internal"):
        yield reason
    if spent > MOST_CPU_S:
        yield f"{spent:.3f} s of CPU"
    short = len(gold) + len(response) < 2000
    answers = all(answer_of_solution(text) == text for text in (gold, response))
    if short and answers and "answer" not in gold + response:
        yield from asymmetry(gold, response)


def with_question(pair: Pair, count: int, known: list[str]) -> Iterator[str]:
    """A question is any text, the right answer among it; it raises nothing, and is bounded."""
    rng = random.Random(count)
    question = " ".join((f"${pair[0]}$", rng.choice(known), rng.choice(pair)))
    for cache in (_read, said_of, formulas):
        cache.cache_clear()
    start = time.thread_time()
    reward = grade(*pair, question, sympy=False)
    spent = time.thread_time() - start
    if reward.metadata["reason"].startswith("internal"):
        yield f"{reward.metadata['reason']} with the question {question[:2000]!r}"
    if spent > 2 * MOST_CPU_S:
        yield f"{spent:.3f} s of CPU with the question {question[:2000]!r}"


#: What is forgiven on one side only, so that it is not transitive: 5 m is 5, and 5 is 5 km.
_FORGIVEN = re.compile(
    r"[=:%~≈$€°\n]|\\(?:text|approx|circ|sim|mathrm|pmod)|\d[.,]\d"
    r"|[A-Za-z]{3,}(?<!frac|sqrt)|(?<![A-Za-z\\])[mgshl](?![A-Za-z])"
)
_VARIED = (
    *("{}", "({})", "{}+0", "-(-({}))", "1\\cdot({})", "\\frac{{{}}}{{1}}", "({})^1", "|{}|"),
    *("\\left({}\\right)", "\\{{{}\\}}", "[{}]", "{}, {}", "\\displaystyle {}", "\\sqrt{{({})^2}}"),
    "\\pm {}",
)
_ATOMS = (
    *("0", "1", "2", "-1", "x", "y", "-x", "2x", "x+1", "1+x", "x^2", "(x+1)^2", "x^2+2x+1", "A"),
    *(
        "\\frac{1}{2}",
        "1/2",
        "2/4",
        "\\pi",
        "\\infty",
        "(0,1)",
        "[0,1]",
        "0,1",
        "1,0",
        "(1,0)",
        "e",
    ),
    *(
        "x>1",
        "1<x",
        "(1,\\infty)",
        "x<1",
        "|x|",
        "n",
        "\\lfloor n\\rfloor",
        "(-1)^n",
        "n!",
        "i",
        "i^2",
    ),
    *(
        "\\pm 1",
        "1,-1",
        "(0,1)\\cup(1,2)",
        "\\emptyset",
        "\\R",
        "2^{-1}",
        "\\ln 1",
        "1:2",
        "\\{0,1\\}",
    ),
    *(
        "\\sqrt{2}",
        "\\sqrt{x^2}",
        "\\binom{2}{1}",
        "\\cos(n\\pi)",
        "\\begin{pmatrix}0&1\\end{pmatrix}",
    ),
)


def triple(rng: random.Random, known: list[str]) -> tuple[str, str, str]:
    """Three short answers that may well be the same."""
    pool = _ATOMS if rng.random() < 0.6 else rng.choices(known[:1500], k=8)
    first = rng.choice(pool)
    others = (first if rng.random() < 0.6 else rng.choice(pool) for _ in range(2))
    return tuple(varied(rng, one) for one in (first, *others))  # type: ignore[return-value]


def varied(rng: random.Random, text: str) -> str:
    """``text`` in a form that most often says the same."""
    form = rng.choice(_VARIED)
    return form.format(*[text] * 2)


def intransitive(rng: random.Random, known: list[str]) -> Iterator[str]:
    """Say which three answers are equal in a row, and the first is not the last."""
    a, b, c = triple(rng, known)
    if any(map(_FORGIVEN.search, (a, b, c))) or any(answer_of_solution(t) != t for t in (a, b, c)):
        return
    for text in (a, b, c):
        if judge(text, text)[0] == "different":
            yield f"not reflexive: {text!r}"
    for x, y, z in ((a, b, c), (b, a, c), (a, c, b)):
        if judge(x, y)[0] == judge(y, z)[0] == "equal" and judge(x, z)[0] == "different":
            yield f"not transitive: {x!r}, {y!r}, {z!r}"


def asymmetry(first: str, second: str) -> Iterator[str]:
    if judge(first, second)[0] != judge(second, first)[0]:
        yield "not symmetric"


def fuzz(seed: int, minutes: float) -> int:
    """Run for so many minutes of CPU; return the number of faults."""
    known, end, wrong = texts(), time.process_time() + 60 * minutes, 0
    dearest, count, said = (0.0, ""), 0, time.process_time()
    gc.disable()  # a full round is longer than a verdict, and belongs to none
    while (now := time.process_time()) < end:
        count += 1
        source = SOURCES[count % len(SOURCES)]
        where = f"{source.__name__}, seed {seed} number {count}"
        pair = source(random.Random(f"{seed}/{count}"), known)
        reward, spent = timed(*pair)
        dearest = max(dearest, (spent, where))
        more = (with_question(pair, count, known), intransitive(random.Random(count), known))
        for fault in (*faults(*pair, reward, spent), *chain.from_iterable(more)):
            wrong += 1
            print(f"{fault}: {where}: {pair!r:.2000}", flush=True)
        if count % 1000 == 0:
            gc.collect()
        if now > said + 30:
            said = now
            print(_line(count, wrong, dearest), flush=True)
    print(_line(count, wrong, dearest))
    return wrong


def _line(count: int, wrong: int, dearest: tuple[float, str]) -> str:
    return f"{count} pairs, {wrong} faults, dearest {1000 * dearest[0]:.0f} ms ({dearest[1]})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    sys.exit(bool(fuzz(given.seed, given.minutes)))


if __name__ == "__main__":
    main()
