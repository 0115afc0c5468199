"""Hook of mkdocs: the page commands.md, what both commands say of themselves."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import click

from mint_envs.cli import main


def on_files(files: Any, config: Any) -> Any:
    """Add the page, which is written nowhere."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "commands.md", content="\n".join(commands())))
    return files


def commands() -> Iterator[str]:
    """Return the page as Markdown."""
    yield "# The commands\n"
    yield "`mint-envs` looks at environments, measures and serves; `mint-grpo` trains.\n"
    assert isinstance(main, click.Group)
    above = click.Context(main)
    for name in main.list_commands(above):
        command = main.get_command(above, name)
        assert command is not None
        context = click.Context(command, info_name=f"mint-envs {name}", max_content_width=88)
        yield f"\n## mint-envs {name}\n\n```text\n{command.get_help(context)}\n```"
    yield f"\n## mint-grpo\n\n```text\n{_said_by('trainers', '--help')}\n```"
    yield "\nEach environment adds its own settings; the defaults are those for it:\n"
    yield f"\n```text\n{_said_by('trainers', 'mint/Math-v0', '--help')}\n```\n"
    yield f"\n## mint-grpo sft\n\n```text\n{_said_by('trainers', 'sft', '--help')}\n```\n"


def _said_by(module: str, *arguments: str) -> str:
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={"COLUMNS": "88", "PATH": ""}
    )
    return re.sub(r"^usage: __main__.py", "usage: mint-grpo", done.stdout.rstrip())
