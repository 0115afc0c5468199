"""Faults of published rewards, by kind: what no author can want is found, a strict form is told.

All of them: ``python -m tests.bench_known``.
"""

from __future__ import annotations

from typing import Any

import known_rewards
import pytest
from bench_known import report_of, verdict_of
from bench_sets import QUICK
from benching import written

from mint_envs.bench.bench import bench
from mint_envs.bench.run import Options

#: The function, and in which part of the report its fault is found.
FOUND = {
    "any_line_equal": "right",  # another equation is paid
    "no_bold": "right",  # prose is read, and not in bold
    "blocks": "right",  # nothing may stand round the form, anything inside
    "as_strings": "right",  # a list without spaces
    "open_thoughts": "hackable",  # thoughts count if they do not end
    "box_between_dollars": "right",  # a box in display mathematics
    "unknown_passes": "right",  # whatever the rows ask for, all is paid
    "opened_by_response": "right",  # the prompts open the thoughts
    "last_line_integer": "right",  # prose is read, and no box
}
TOLD = {"one_sided": "right", "no_plain_names": "right"}


def number_of(name: str) -> int:
    return [function.__name__ for function, _ in known_rewards.KNOWN].index(name)


def verdict(name: str, part: str) -> str:
    number = number_of(name)
    report = report_of(number, only=(part,), within=600.0, search=0)
    return verdict_of(report, known_rewards.faults()[number]["sign"])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "part"), FOUND.items())
def test_what_no_author_can_want_is_found(name: str, part: str) -> None:
    assert verdict(name, part) == "found"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "part"), TOLD.items())
def test_a_strict_form_is_told_as_a_rule(name: str, part: str) -> None:
    assert verdict(name, part) == "told"


#: Like those above, and sound: (a function, a column of its rows, the prompt).
SOUND = {
    "asks for the bare number": (
        "import re\ndef f(response, answer):\n"
        "    found = re.findall(r'(?<![\\w*{])-?\\d+(?![\\w*}])', response)\n"
        "    return float(found[-1:] == [answer])\n",
        {},
        "What is {} + 1? Think aloud, then end with the number and nothing else.",
    ),
    "words may stand round the form": (
        "import re\ndef f(response):\n"
        "    return float(re.search('<think>.*</think>.*<answer>.*</answer>', response, 16)"
        " is not None)\n",
        {},
        "What is {} + 1? Think between <think> and </think>, then answer between <answer> and "
        "</answer>.",
    ),
    "no word of a list": (
        "def f(response, row):\n"
        "    return float(not any(word in response for word in row['forbidden']))\n",
        {"forbidden": ["kettle", "doctor"]},
        "Write about {} cats, without the words kettle and doctor.",
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", SOUND)
def test_what_looks_like_it_and_is_sound_is_left_alone(tmp_path: Any, name: str) -> None:
    source, columns, prompt = SOUND[name]
    (tmp_path / "r.py").write_text(source)
    answers = {"answer"} if "answer" in source else set()
    rows = [
        {"prompt": prompt.format(n), **dict.fromkeys(answers, str(n + 1)), **columns}
        for n in (11, 42, 63)
    ]
    data = written(tmp_path / "p.jsonl", rows)
    options = Options(**{**QUICK, "only": ("right",), "within": 600.0}, data=data)
    report = bench(f"{tmp_path}/r.py:f", options)
    assert [one.fault for one in report.findings] == []
