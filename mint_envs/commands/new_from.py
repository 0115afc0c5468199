"""The file that ``mint-envs new --from`` writes: reward functions and rows as an environment."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..datasets import Row, load_rows, look_up
from ..errors import did_you_mean, require
from ..interop.reward_functions import from_reward_func
from ..loading import imported, is_file
from ..records.fields import GOLDS, PROMPTS

_SETTINGS = ("weights", "prompt", "answer", "ranges", "split", "drop", "style")

_FILE = '''\
"""{id}: {said} on the rows of {dataset}."""

import mint_envs
{imports}
TASK = mint_envs.from_reward_func(
    {functions},
{arguments}
)
mint_envs.register("{id}", TASK)
'''

_TEST_FILE = '''\
"""The test of {id}: the conformance kit. Give solve= a function that solves the prompt."""

from mint_envs.testing import check_env


def test_it_keeps_the_contract():
    check_env("{module}:{id}")
'''


def default_name(function: str) -> str:
    """Return the name of an environment of a reward function that was given none."""
    return f"{function.rpartition(':')[2]}_env"


def texts_from(
    id: str, module: str, functions: Sequence[str], dataset: str | None, given: Mapping[str, Any]
) -> tuple[str, str]:
    """Return the environment's file and its test. It is made once here, so that it can be made.

    Raises:
        SettingError: a function cannot be loaded, is none of a known form or leaves its range, or
            a setting is unknown.
        DatasetError: the rows cannot be read.
    """
    require(dataset is not None, "--from needs --dataset: a file of rows, which are the problems")
    assert dataset is not None
    for name in given:
        require(name in _SETTINGS, f"--set {name}: {did_you_mean(name, _SETTINGS)}")
    for name in functions:
        imported(name)
    settings = {**_fields_of(load_rows(dataset)[0]), **given}
    from_reward_func(list(functions), dataset=dataset, **settings)
    names, imports = _imports(functions)
    arguments = {"dataset": dataset, **settings}
    lines = [f"    {name}={_literal(value)}," for name, value in arguments.items()]
    said = " and ".join(name.rpartition(":")[2] for name in functions)
    words = {"id": id, "said": said, "dataset": dataset, "imports": imports, "module": module}
    one = names[0] if len(names) == 1 else f"[{', '.join(names)}]"
    text = _FILE.format(functions=one, arguments="\n".join(lines), **words)
    return text, _TEST_FILE.format(**words)


def _fields_of(row: Row) -> dict[str, str]:
    """Return the fields that are the prompt and the answer, by their usual names, as settings."""
    found = {
        setting: next((name for name in names if look_up(row, [name]) is not None), None)
        for setting, names in (("prompt", PROMPTS), ("answer", GOLDS))
    }
    return {name: value for name, value in found.items() if value is not None}


def _imports(functions: Sequence[str]) -> tuple[list[str], str]:
    """Return how the functions are called in the file, and the lines that import them.

    One in a file of another folder is named by a text, since it is no module that can be imported.
    """
    names: list[str] = []
    lines: dict[str, list[str]] = {}
    for one in functions:
        module, _, name = one.rpartition(":")
        if is_file(module) and len(Path(module).parts) > 1:
            names.append(_literal(one))
            continue
        lines.setdefault(module.removesuffix(".py"), []).append(name)
        names.append(name)
    imports = [f"from {module} import {', '.join(sorted(set(found)))}" for module, found in
               sorted(lines.items())]  # fmt: skip
    return names, "".join(f"{line}\n" for line in imports)


def _literal(value: Any) -> str:
    """Return a value as a person writes it in Python."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
