"""``mint-envs new``."""

from __future__ import annotations

import contextlib
import importlib.util
import keyword
import os
import re
from pathlib import Path
from typing import Any

import click

from ..atomic import write_whole
from ..errors import SettingError
from .new_from import default_name, texts_from
from .options import settings_option

_ENV = '''\
"""{id}: sort numbers. Put your own task in its place: sample, prompt, score, examples."""

from typing import Annotated

import mint_envs
from mint_envs import Reward, Task
from mint_envs.errors import require


class {name}(Task[list[int]]):
    """Numbers to sort. The reward is the share of them that stand in their place."""

    stop = ("\\n",)  # a text prompt is continued: the line is the response

    def __init__(self, count: Annotated[int, "numbers to sort, 2 to 9"] = 3) -> None:
        require(2 <= count <= 9, f"count={{count}} must be from 2 to 9")
        self.count = count

    def sample(self, rng):
        """Draw a problem. All that is random comes from rng."""
        return [int(number) for number in rng.choice(100, self.count, replace=False)]

    def prompt(self, problem):
        """Return what the model sees: text to go on with, or chat messages."""
        return f"Sort: 31 5 17\\nSorted: 5 17 31\\n\\nSort: {{_text(problem)}}\\nSorted:"

    def score(self, problem, response):
        """Return the reward. Any text gets one; read it, never run it."""
        given = response.strip().partition("\\n")[0].split()
        right = [str(number) for number in sorted(problem)]
        share = sum(map(str.__eq__, given, right)) / len(right)
        if len(given) != len(right):
            share = 0.0
        return Reward(share, {{"in place": share}}, {{"numbers given": len(given)}})

    def examples(self, problem):
        """Return responses and their rewards, the best one first."""
        return {{_text(sorted(problem)): 1.0, "I cannot sort.": 0.0, "": 0.0}}


def _text(numbers):
    return " ".join(map(str, numbers))


mint_envs.register("{id}", {name})
'''

_TEST = '''\
"""The test of {id}. Change it with the task; without a solver, leave solve= out."""

from mint_envs.testing import check_env


def solve(prompt):
    """Find the answer in the prompt alone, as a model has to."""
    numbers = prompt.rpartition("Sort: ")[2].partition("\\n")[0].split()
    return " ".join(sorted(numbers, key=int))


def test_it_keeps_the_contract():
    check_env("{module}:{id}", solve=solve)


def test_other_settings():
    check_env("{module}:{id}", solve=solve, count=5, problems=2)
'''

#: Where a word begins: at a capital that goes on small (HTTP|Server, GSM8K|Plus, My|V2|Env) or
#: that comes after a small letter (word|Count), and at what stands between words.
_BETWEEN = re.compile(r"(?<=[A-Z0-9])(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])|[_-]+")

#: Names that mean something else: pytest's own file, and a class that the new file calls.
_MEANT = ("conftest", "reward")

_NEXT = """\
Wrote {file} and {test}. Next:
{cd}  mint-envs play {path} --show-answer
  mint-envs check {path}
  python -m pytest {test}
  mint-grpo {path}
"""


@click.command("new")
@click.argument("name", required=False)
@click.option("--from", "functions", multiple=True, metavar="FILE.py:FUNCTION",
              help="A reward function that you have; may be repeated.")  # fmt: skip
@click.option("--dataset", help="The rows that are its problems: a file, a folder, or a name.")
@settings_option
@click.option(
    "--dir",
    "folder",
    default=".",
    type=click.Path(file_okay=False, path_type=Path),
    help="where to write; default: here",
)
def command(
    name: str | None,
    functions: tuple[str, ...],
    dataset: str | None,
    settings: dict[str, Any],
    folder: Path,
) -> None:
    """Write a new environment, NAME.py, and its test.

    It works as it stands: a task, one line that registers it, a test that runs the conformance
    kit. Put your own problems and reward in. With --from it has a reward function of yours, on the
    rows of --dataset; --set are then settings of mint_envs.from_reward_func.

    \b
    Examples:
      mint-envs new word_count
      mint-envs new letters --from rewards.py:exact --dataset words.csv
      mint-envs new --from rewards.py:f --from rewards.py:g --dataset x.jsonl --set weights=[1,0.2]
    """
    if functions:
        name = name or default_name(functions[0])
    elif name is None or dataset is not None or settings:
        raise SettingError(
            "new needs a name: mint-envs new word_count; --dataset and --set go with "
            "--from FILE.py:FUNCTION"
        )
    module, cls = _module_and_class(name)
    id = f"my/{cls}-v0"
    env, test = _ENV.format(id=id, name=cls), _TEST.format(id=id, module=module)
    if functions:
        env, test = texts_from(id, module, functions, dataset, settings)
    files = {folder / f"{module}.py": env, folder / f"test_{module}.py": test}
    _write_all_or_none(folder, files)
    cd = "" if folder.resolve() == Path.cwd() else f"  cd {folder}\n"
    names = {"file": f"{module}.py", "test": f"test_{module}.py", "path": f"{module}:{id}"}
    click.echo(_NEXT.format(**names, cd=cd), nl=False)


def _module_and_class(name: str) -> tuple[str, str]:
    """Return the names of the module and of the class.

    Raises:
        SettingError: the name makes no module, or is taken by one.
    """
    words = [word for word in _BETWEEN.split(name.removesuffix(".py")) if word]
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{,99}(\.py)?", name)
    module = "_".join(word.lower() for word in words)
    cls = "".join(word[0].upper() + word[1:] for word in words)
    if not plain or keyword.iskeyword(module) or keyword.iskeyword(cls):
        raise SettingError(
            f"name={name[:120]!r}: use up to 100 letters, digits and _, e.g. word_count"
        )
    if module in _MEANT:
        raise SettingError(f"name={name!r}: {module} means something else: choose another name")
    if importlib.util.find_spec(module) is not None:
        raise SettingError(f"name={name!r}: {module} is a module of Python or installed already")
    return module, cls


def _write_all_or_none(folder: Path, files: dict[Path, str]) -> None:
    """Write all of ``files``, or none.

    Raises:
        SettingError: one of them is there already, or the folder cannot be written to.
    """
    written: list[Path] = []
    try:
        for path in files:
            if os.path.lexists(path):  # a link that leads nowhere is somebody's too
                raise SettingError(f"{path} exists already: choose another name, or remove it")
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            write_whole(path, text)
            written.append(path)
    except OSError as error:
        for path in written:
            with contextlib.suppress(OSError):
                path.unlink()
        raise SettingError(
            f"cannot write in {folder}: {error.strerror}. Name another --dir"
        ) from error
