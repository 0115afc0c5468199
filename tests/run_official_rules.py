"""Our rules for what scripts print, beside the official graders of the sets, on the same outputs.

    python -m tests.run_official_rules apps=FILE taco=FILE livecodebench=FILE prime=FILE

FILE is the set's own ``testing_util.py``, of hendrycks/apps, FlagOpen/TACO,
LiveCodeBench/LiveCodeBench and verl (``prime_code``). Each official function judges 400 pairs of
outputs in a process of its own, which it may spoil. Every disagreement is printed, with the
stricter side; ends with 1 if ours pays what the official one does not.
"""

from __future__ import annotations

import importlib.util
import json
import random
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mint_envs.code.judging import same_output

DATA = Path(__file__).parent / "data" / "code_contests_small.jsonl"
COUNT = 400
Pair = tuple[str, str]


def pairs() -> list[Pair]:
    """Return (printed, wanted): wanted outputs of real problems, and changes of them."""
    draw = random.Random(0)
    rows = [json.loads(line) for line in DATA.read_text().splitlines()]
    wanted = [test["output"]["stdout"] for row in rows for test in json.loads(row["test"])[:8]]
    wanted = [text for text in wanted if text.strip() and len(text) < 2000]
    wanted += [_text(draw) for _ in range(3 * len(wanted))]
    made = []
    while len(made) < COUNT:
        text = draw.choice(wanted)
        made.append((draw.choice(CHANGES)(text, draw), text))
    return made


def _text(draw: random.Random) -> str:
    """Return what a problem may want: a few lines of words and numbers."""
    words = (
        "YES",
        "no",
        "1",
        "2",
        "17",
        "-3",
        "0.5",
        "2.000000",
        "1e-7",
        "abc",
        "inf",
        "1000000007",
    )
    rows = [draw.choices(words, k=draw.randint(1, 3)) for _ in range(draw.randint(1, 4))]
    return "".join(" ".join(row) + "\n" for row in rows)


def _shuffled(text: str, draw: random.Random) -> str:
    lines = text.splitlines()
    draw.shuffle(lines)
    return "\n".join(lines) + "\n"


def _off(text: str, draw: random.Random) -> str:
    return " ".join(_near(word, draw.choice([0.0, 1e-9, 1e-6, 1e-3])) for word in text.split(" "))


def _near(word: str, step: float) -> str:
    try:
        return f"{float(word) + step:.10f}" if "." in word else word
    except ValueError:
        return word


CHANGES: tuple[Callable[[str, random.Random], str], ...] = (
    lambda text, draw: text,
    lambda text, draw: text.rstrip(),
    lambda text, draw: text.replace("\n", " \n"),
    lambda text, draw: text.replace("\n", "\n\n"),
    lambda text, draw: "\n" + text,
    lambda text, draw: text.replace(" ", "  "),
    lambda text, draw: text.replace("\n", " "),
    lambda text, draw: text.replace(" ", "\n"),
    lambda text, draw: text.lower(),
    lambda text, draw: text.replace("1", "2"),
    lambda text, draw: "\n".join(text.splitlines()[:-1]),
    lambda text, draw: text + text,
    lambda text, draw: "",
    lambda text, draw: text.replace("\n", ".0\n"),
    _shuffled,
    _off,
)


def official(name: str, file: str) -> list[bool]:
    """Return the verdicts of a set's own grader, made in another process."""
    done = subprocess.run([sys.executable, "-m", "tests.run_official_rules", "--judge", name, file],
                          capture_output=True, text=True, check=True)  # fmt: skip
    verdicts: list[bool] = json.loads(done.stdout.splitlines()[-1])
    return verdicts


def judge(name: str, file: str) -> None:
    """In the other process: print the verdicts."""
    module = loaded(file)
    module.reliability_guard = lambda *arguments, **options: None
    verdicts = [bool(JUDGES[name](module, *pair)) for pair in pairs()]
    sys.__stdout__.write("\n" + json.dumps(verdicts) + "\n")  # type: ignore[union-attr]


def loaded(file: str) -> Any:
    """Import a grader; the package that makes modules of text is stood in for."""
    stand_in: Any = types.ModuleType("pyext")
    stand_in.RuntimeModule = types.SimpleNamespace(from_string=_module_of)
    sys.modules |= {"pyext": stand_in, "official": types.ModuleType("official"),
                    "official.pyext2": stand_in}  # fmt: skip
    spec = importlib.util.spec_from_file_location("official.grader", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _module_of(name: str, words: str, text: str) -> Any:
    made = types.ModuleType(name)
    exec(text, made.__dict__)  # the grader's own text, and a print of ours
    return made


def _program(printed: str) -> str:
    return f"import sys\nsys.stdout.write({printed!r})\n"


def _run_test(module: Any, printed: str, wanted: str, **cases: Any) -> Any:
    cases = {"inputs": [""], "outputs": [wanted]}
    return module.run_test({"input_output": cases}, test=_program(printed))[0] is True


def _live(module: Any, printed: str, wanted: str) -> Any:
    cases = json.dumps({"inputs": [""], "outputs": [wanted]})
    return module.run_test({"input_output": cases}, test=_program(printed))[0] == [True]


def _prime(module: Any, printed: str, wanted: str) -> Any:
    cases = {"inputs": [""], "outputs": [wanted]}
    return module.run_test(cases, test=_program(printed))[0] == [True]


JUDGES: dict[str, Callable[[Any, str, str], Any]] = {
    "apps": _run_test,
    "taco": lambda module, printed, wanted: module.compare_std_results(printed, wanted),
    "livecodebench": _live,
    "prime": _prime,
}


def main(arguments: list[str]) -> int:
    paid = 0
    for argument in arguments:
        name, _, file = argument.partition("=")
        theirs = official(name, file)
        ours = [same_output(printed, wanted, name) for printed, wanted in pairs()]
        apart = [one for one in zip(pairs(), ours, theirs, strict=True) if one[1] != one[2]]
        print(f"{name}: {len(ours)} outputs, {sum(theirs)} right, {len(apart)} judged otherwise")
        for (printed, wanted), mine, _ in apart[:10]:
            print(
                f"  {'ours pays' if mine else 'ours does not'}: {printed!r:.70} for {wanted!r:.70}"
            )
        paid += sum(mine for _, mine, _ in apart)
    return int(paid > 0)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--judge"]:
        judge(*sys.argv[2:4])
    else:
        sys.exit(main(sys.argv[1:]))
