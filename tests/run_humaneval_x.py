"""The references of HumanEval-X in five languages, through the grader, each with its own tests.

    python -m tests.run_humaneval_x FOLDER              # humaneval-x_{cpp,go,java,js,rust}.jsonl.gz
    python -m tests.run_humaneval_x FOLDER go rust      # these languages
    python -m tests.run_humaneval_x FOLDER --wrong      # every true in the tests made false
    python -m tests.run_humaneval_x FOLDER --outside    # by the plain tool, with no sandbox

It ends with 1 if a reference does not pass, or with ``--wrong`` if a program does.

A reference and its tests become one program that ends well and prints ``done`` when the tests
hold: one test with an empty stdin. What the tests need beside the language itself is in
``tests/data/humaneval_x``: the assert of Go's testify, the crates rand, regex and md5, boost's any,
openssl's and js-md5's MD5.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mint_envs.code.grade import GradeSettings, grade_many
from mint_envs.code.plan import make_plan
from mint_envs.sandbox import Sandbox
from mint_envs.sandbox.toolchains import TOOLCHAINS

_BESIDE = Path(__file__).parent / "data" / "humaneval_x"
_PLAN = make_plan([{"stdin": "", "stdout": "done\n"}])
_FILES = {"cpp": "cpp", "go": "go", "java": "java", "javascript": "js", "rust": "rust"}
Row = dict[str, Any]


def beside(name: str) -> str:
    return (_BESIDE / name).read_text(encoding="utf-8")


_CPP_HEADERS = ("algorithm", "cmath", "cstdio", "cstdlib", "string", "vector")


def cpp(row: Row) -> str:
    """Includes of other libraries are replaced by what stands beside; asserts abort."""
    text = "".join(f"#include<{name}>\n" for name in _CPP_HEADERS)  # the tests count on them
    text += row["prompt"] + row["canonical_solution"] + row["test"]
    for include, name in (("boost/any.hpp", "any.hpp"), ("openssl/md5.h", "md5.h")):
        text = text.replace(f"#include<{include}>", beside(name))
    return f'{text.rstrip().removesuffix("}")}puts("done");\n}}\n'


_GO_PACKAGES = (
    "bytes", "crypto/md5", "fmt", "math", "math/rand", "reflect", "regexp", "sort", "strconv",
    "strings", "testing", "time",
)  # fmt: skip


def go(row: Row) -> str:
    """One file: the imports it uses, testify's assert beside, the test called from ``main``."""
    prompt = row["prompt"].replace(row["import"], "", 1)
    setup = row["test_setup"].partition(")")[2]  # helpers, after the imports
    (test,) = re.findall(r"func (Test\w+)", row["test"])
    main = f'func main() {{ {test}(nil); fmt.Println("done") }}\n'
    text = "\n".join(
        [beside("assert.go"), prompt + row["canonical_solution"], setup, row["test"], main]
    )
    bare = re.sub(r"//.*", "", text)
    used = [name for name in _GO_PACKAGES if re.search(rf"\b{name.rpartition('/')[2]}\.", bare)]
    return "package main\n" + "".join(f'import "{name}"\n' for name in used) + text


def java(row: Row) -> str:
    text: str = row["declaration"] + row["canonical_solution"] + row["test"]
    end = text.rstrip().removesuffix("}").rstrip().removesuffix("}")
    return f'{end}System.out.println("done");\n}}\n}}\n'


def javascript(row: Row) -> str:
    """``console.assert`` only prints; here it throws."""
    text: str = row["declaration"] + row["canonical_solution"] + row["test"]
    return f"{beside('shim.js')}\n{text}\nconsole.log('done')\n"


def rust(row: Row) -> str:
    """Its tests are called from ``main``; the crates are modules of the program."""
    test = re.sub(r"/\*.*?\*/", "", row["test"], flags=re.DOTALL)
    names = re.findall(r"#\[test\]\s*(?:pub )?fn (\w+)", test)
    module = "".join(re.findall(r"\bmod (\w+)", test)[:1])
    test = re.sub(r"#\[(cfg\(test\)|test)\]", "", test)
    for name in names:
        test = re.sub(rf"(pub )?\bfn {name}\b", f"pub fn {name}", test)
    calls = "".join(f"    {module}::{name}();\n" for name in names)
    main = f'fn main() {{\n{calls}    println!("done");\n}}\n'
    head = row["declaration"].replace("use md5;", "")  # the module is here already
    return "\n".join([beside("crates.rs"), head, row["canonical_solution"], test, main])


BUILD: dict[str, Callable[[Row], str]] = {
    "cpp": cpp, "go": go, "java": java, "javascript": javascript, "rust": rust,
}  # fmt: skip


def programs(folder: Path, language: str, wrong: bool = False) -> dict[str, str]:
    """Return {task id: program}; ``wrong``: those whose tests can be made false, and are."""
    found = {}
    with gzip.open(folder / f"humaneval-x_{_FILES[language]}.jsonl.gz", "rt") as file:
        for row in map(json.loads, file):
            if wrong:
                changed = re.sub(r"\btrue\b", "false", row["test"])
                if changed == row["test"]:
                    continue
                row["test"] = changed
            found[row["task_id"]] = BUILD[language](row)
    return found


def by_grader(language: str, made: dict[str, str], seconds: float) -> Iterator[tuple[str, str]]:
    """Yield (task id, "" or what went wrong)."""
    settings = GradeSettings(sandbox_timeout_s=seconds, language=language)
    items = [(f"```{language}\n{program}\n```", _PLAN) for program in made.values()]
    with Sandbox() as sandbox:
        for name, reward in zip(made, grade_many(items, settings, sandbox), strict=True):
            said = reward.metadata
            text = said["error"] or said["limit"] or said["reason"] or str(said["tests"])
            yield name, "" if reward.score == 1.0 else f"{reward.score}: {' '.join(text.split())}"


def by_tool(language: str, made: dict[str, str], seconds: float) -> Iterator[tuple[str, str]]:
    chain = TOOLCHAINS[language]
    places = {"{tool}": chain.command(), "{java}": chain.command("java")}
    for name, program in made.items():
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / chain.source).write_text(program, encoding="utf-8")
            steps = [["{tool}", *chain.compile]] if chain.compile else []
            for step in [*steps, list(chain.run)]:
                command = [places.get(word, word) for word in step]
                done = subprocess.run(
                    command, cwd=folder, capture_output=True, text=True, check=False,
                    timeout=20 * seconds,
                )  # fmt: skip
                if done.returncode:
                    break
            said = f"{done.returncode}: {done.stderr[-300:]}"
            yield name, "" if done.stdout == "done\n" else said


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("languages", nargs="*", help=f"of {', '.join(BUILD)}")
    parser.add_argument("--wrong", action="store_true")
    parser.add_argument("--outside", action="store_true")
    parser.add_argument("--only", help="a task id")
    parser.add_argument("--seconds", type=float, default=20.0, help="of CPU time, for each run")
    options = parser.parse_args()
    judge = by_tool if options.outside else by_grader
    faults = 0
    for language in options.languages or BUILD:
        begun = time.monotonic()
        made = programs(options.folder, language, options.wrong)
        made = {k: v for k, v in made.items() if options.only in (None, k)}
        failed = {name: text for name, text in judge(language, made, options.seconds) if text}
        passed = [name for name in made if name not in failed]
        faults += len(passed if options.wrong else failed) + (not made)
        if not options.wrong:
            print(*(f"  {name}: {text}" for name, text in failed.items()), sep="\n")
        print(f"{language}: {len(passed)} of {len(made)} pass, {time.monotonic() - begun:.0f} s")
        if options.wrong:
            print("  passed though wrong:", *passed)
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
