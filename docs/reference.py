"""Hook of mkdocs: the page reference.md, drawn from docstrings, settings and worked examples."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import mint_envs
from mint_envs.registration import BUILT_IN, make_task, settings_of

_ABOUT = (
    "Every environment with its settings, the prompt of one problem, and worked examples with "
    "their rewards. The page is made from the code. How to use them: [tutorial](tutorial.md)."
)


def on_files(files: Any, config: Any) -> Any:
    """Add the page, which is written nowhere."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "reference.md", content=reference()))
    return files


def reference() -> str:
    """Return the page as Markdown."""
    return "\n".join(["# Reference of the environments", "", _ABOUT, "", *_pages()]) + "\n"


def _pages() -> Iterator[str]:
    for id in sorted(BUILT_IN):
        task = make_task(BUILT_IN[id], {})
        yield f"## {id}\n"
        yield inspect.getdoc(type(task)) or ""
        yield "\n### Settings\n"
        yield "| setting | default | meaning |\n|---|---|---|"
        for name, setting in settings_of(id).items():
            yield f"| `{name}` | `{_cell(repr(setting.default))}` | {_cell(setting.help)} |"
        yield from _example(id)


def _example(id: str) -> Iterator[str]:
    env = mint_envs.make(id)
    env.reset(seed=0)
    unwrapped: Any = env.unwrapped
    prompt = _text(unwrapped.task.prompt(unwrapped.problem))
    yield f"\n### What `reset(seed=0)` asks\n\n{_block(prompt)}\n"
    yield "Worked examples, with what they earn:\n"
    for response, reward in unwrapped.task.examples(unwrapped.problem).items():
        turns = response if isinstance(response, tuple) else (response,)
        for turn in turns:
            yield _block(turn or "(nothing)")
        yield f"earns **{reward:g}**\n"


def _text(prompt: Any) -> str:
    if isinstance(prompt, str):
        return prompt
    return "\n\n".join(f"[{message['role']}]\n{message['content']}" for message in prompt)


def _block(text: str) -> str:
    fence = "`" * (3 + text.count("```"))
    return f"{fence}text\n{text.rstrip()}\n{fence}\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
