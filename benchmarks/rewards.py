"""Published reward functions, benchmarked: ``python -m benchmarks.rewards LIBRARY -o FILE``.

    python -m benchmarks.rewards verl -o verl.jsonl     # all of a library, a line each
    python -m benchmarks.rewards --table *.jsonl        # the table, in Markdown
    python -m benchmarks.rewards --join docs/published.md *.jsonl    # into the page

Of a function that is in several lines the last one counts.

The functions are in ``benchmarks/published.py``; ``nox -s rewards_NAME`` installs a library and
runs this. Each line has the version, the first line of the report, the findings, the rules that
are no faults, what is known of it, what was left out, and the speed. ``rewards_read.jsonl`` says of
each finding what a person who read it made of it: true, false, or debatable.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
import tempfile
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from mint_envs.bench.bench import bench
from mint_envs.bench.run import Options
from mint_envs.bench.target.functions import adapt, number_of
from mint_envs.records.files import write_result
from mint_envs.reports.report import Report

from . import published_code
from .published import PUBLISHED, Published

KNOWN_FAULTS = Path(__file__).parents[1] / "tests" / "data" / "rewards" / "known_faults.jsonl"
MARKS = Path(__file__).with_name("rewards_read.jsonl")

#: What the prompts say of the form of the answer.
ASKS = {
    "bare": "Reply with the answer.",
    "box": "Put your final answer in \\boxed{}.",
    "hashes": "End with a line of the form #### <answer>.",
    "said": "End with a line 'Answer: ' and the answer.",
    "tag": "Give your answer between <answer> and </answer>.",
    "tags": "Think between <think> and </think>, then answer between <answer> and </answer>.",
    "thoughts": "Think between <think> and </think>, then put your final answer in \\boxed{}.",
}
WHOLE = [
    ("What is 12 + 7?", "19"),
    ("A train has 18 cars with 24 seats each. How many seats are there?", "432"),
    ("How many days are there in three weeks and four days?", "25"),
    ("What is 61 + 3?", "64"),
    ("It was 4 degrees and fell by 11. What is it now?", "-7"),
    ("Tom had 300 stamps and gave 17 away. How many are left?", "283"),
]
WORDS = [
    ("What is the capital of France?", "Paris"),
    ("Which metal is liquid at room temperature?", "mercury"),
    ("Which planet is the largest?", "Jupiter"),
    ("What colour is a ruby?", "red"),
]
FORMULAS = [
    ("What is a half to the power of 99?", "$\\frac{1}{2^{99}}$"),
    ("What is one less one by e?", "$1 - \\frac{1}{\\mathrm{e}}$"),
    ("Which cubes lie between 1200 and 1800?", "1331 and 1728"),
    ("What is the root of 16?", "$4$"),
    ("Which line is meant?", "3*x-1*y+13=0"),
    ("Where is m at least the root of 2?", "$m \\in [\\sqrt{2}, +\\infty)$"),
]
OPEN = (
    "Tell a friend about cats.",
    "What is a good way to learn the guitar?",
    "Why is it dark at night?",
)
SEVERITIES = ("exploitable", "honest", "fragile")


def problems(one: Published) -> list[dict[str, Any]]:
    """Return the problems on which a function is benchmarked."""
    kind, _, name = one.form.partition(":")
    if kind == "gym":
        data = importlib.import_module("reasoning_gym").create_dataset(name, seed=1, size=12)
        return [
            {"prompt": data[i]["question"], "answer": str(data[i]["answer"]), "number": i}
            for i in range(12)
        ]
    if kind == "own":
        return []  # it brings its problems
    if kind == "code":
        return published_code.program_rows()
    if kind == "open":
        return [{"prompt": text} for text in OPEN]
    pairs = {"words": WORDS, "formulas": FORMULAS}.get(one.golds, WHOLE)
    reads_latex = one.library == "open-r1" and one.means.startswith("right")
    gold = "${}$" if reads_latex else "{}"
    rows = [
        {"prompt": f"{asked}\n{ASKS[kind]}", "answer": gold.format(answer)}
        for asked, answer in pairs
    ]
    return [{**row, "solution": row["answer"]} for row in rows]


def measured(key: str, within: float) -> dict[str, Any]:
    """Benchmark one function; return what the table and the page need."""
    one = PUBLISHED[key]
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "problems.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in problems(one)), encoding="utf-8")
        own = None if one.form == "own" else str(data)
        options = Options(data=own, within=within, seconds=0.5, workers=1)
        report = bench(f"benchmarks.published:{key}", options)
    return {
        "key": key,
        "library": one.library,
        "name": one.name,
        "means": one.means,
        "version": _version(one.package),
        "date": datetime.now(UTC).date().isoformat(),
        "lead": report.lead,
        "findings": [finding.to_json() for finding in report.worst_first],
        "rules": [policy.fault for policy in report.policies],
        "known": [told_of(fault, one, report) for fault in known_of(key)],
        "left_out": [note for note in report.notes if note.startswith("Left out")],
        "rewards_per_second": report.numbers.get("rewards_per_second"),
    }


#: Which functions of the known faults these are.
_KNOWN = {
    "verl_gsm8k": "gsm8k.compute_score", "verl_math_dapo": "math_dapo.compute_score",
    "math_verify": "verify", "r1_accuracy": "accuracy_reward", "r1_format": "format_reward",
    "trl_think_format": "think_format_reward",
}  # fmt: skip


def known_of(key: str) -> list[dict[str, Any]]:
    """Return what is known of a function from its issue tracker."""
    lines = map(json.loads, KNOWN_FAULTS.read_text(encoding="utf-8").splitlines())
    library, function = PUBLISHED[key].library, _KNOWN.get(key)
    return [row for row in lines if (row["library"], row["function"]) == (library, function)]


def told_of(fault: dict[str, Any], one: Published, report: Report) -> dict[str, Any]:
    """Return of a known fault whether it is there still, and whether the report tells of it."""
    row = {"prompt": fault["prompt"], "answer": fault["answer"], "solution": fault["answer"]}
    try:
        got = number_of(adapt(one.load(), one.name)(row, row["prompt"], fault["response"]))
    except Exception as error:
        got = f"{type(error).__name__}: {error}"
    texts = ([one.fault for one in report.findings], [one.fault for one in report.policies])
    found, told = (any(re.search(fault["sign"], text) for text in some) for some in texts)
    said = "found" if found else "told" if told else "missed"
    return {"what": fault["what"], "link": fault["link"], "got": got,
            "there": got == fault["gets"], "report": said}  # fmt: skip


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except (metadata.PackageNotFoundError, ValueError):
        return "source"


_BEGIN, _END = "<!-- table: python -m benchmarks.rewards --join -->", "<!-- end of the table -->"


def join(page: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Put the table into a page, between its two marks.

    Raises:
        ValueError: the page has no marks.
    """
    before, _, rest = page.read_text(encoding="utf-8").partition(_BEGIN)
    _, mark, after = rest.partition(_END)
    if not mark:
        raise ValueError(f"{page} has no {_BEGIN!r} and {_END!r}")
    write_result(page, f"{before}{_BEGIN}\n\n{table(rows)}\n{_END}{after}")


def newest(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the last line of each function, in the order of ``PUBLISHED``."""
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    found = {row["key"]: row for row in map(json.loads, lines)}
    return [found[key] for key in PUBLISHED if key in found]


def marks() -> dict[tuple[str, str], str]:
    """Return what a person who read the findings said of them: "true", "false", "debatable".

    By function, and by what the finding says without its numbers.
    """
    lines = map(json.loads, MARKS.read_text(encoding="utf-8").splitlines())
    return {(row["key"], shape_of(row["finding"])): row["mark"] for row in lines}


def shape_of(text: str) -> str:
    """Return what a finding says without its numbers, and without the rest of a long one."""
    return re.sub(r"\d[\d.,]*", "N", text)[:70]


def false_alarms(row: dict[str, Any], read: dict[tuple[str, str], str]) -> str:
    """Return how many findings are none, as far as they were read."""
    found = [read.get((row["key"], shape_of(one["text"])), "unread") for one in row["findings"]]
    counts = Counter(found)
    told = [f"{counts[name]} {name}" for name in ("debatable", "unread") if counts[name]]
    return ", ".join([str(counts["false"]), *told])


def _known_cell(row: dict[str, Any]) -> str:
    there = [one["report"] for one in row["known"] if one["there"]]
    gone = len(row["known"]) - len(there)
    if not row["known"]:
        return "-"
    if not there:
        return f"none left, {gone} mended"
    told = f", {there.count('told')} as rules" if "told" in there else ""
    return f"{there.count('found')} of {len(there)}{told}{f'; {gone} mended' if gone else ''}"


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Return the lines of a table in Markdown."""
    heads = ["function", "version", *SEVERITIES, "false alarms", "known faults found", "rules",
             "left out", "rewards a second", "the first finding"]  # fmt: skip
    read = marks()
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for row in rows:
        counts = Counter(finding["severity"] or "fragile" for finding in row["findings"])
        first = row["findings"][0]["text"].replace("|", "\\|")[:110] if row["findings"] else "none"
        speed = f"{row['rewards_per_second']:,.0f}" if row["rewards_per_second"] else "-"
        found = [str(counts[name]) for name in SEVERITIES]
        what = f"{row['library']} `{row['name']}`"
        told = [str(len(row["rules"])), "yes" if row["left_out"] else "no"]
        seen = [false_alarms(row, read), _known_cell(row)]
        cells = [what, row["version"], *found, *seen, *told, speed, first]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.rewards",
        description=__doc__,
        formatter_class=argparse.RawTextHelpFormatter,
    )
    parser.add_argument("library", nargs="?", help="all functions of a library, or one by its key")
    parser.add_argument("-o", dest="out", type=Path, help="append a line of JSON for each")
    parser.add_argument("--within", type=float, default=45.0, help="seconds for each")
    parser.add_argument("--table", nargs="+", type=Path, help="print the table of such files")
    parser.add_argument("--join", nargs="+", type=Path, metavar=("PAGE", "FILE"),
                        help="put it into a page")  # fmt: skip
    options = parser.parse_args()
    if options.table:
        print(table(newest(options.table)))
        return
    if options.join:
        page, *files = options.join
        join(page, newest(files))
        return
    for key, one in PUBLISHED.items():
        if options.library in (one.library, key):
            row = measured(key, options.within)
            print(f"{key}: {len(row['findings'])} findings. {row['lead']}", flush=True)
            if options.out:
                with options.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
