"""``mint-envs play``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

from ..errors import SettingError, require
from ..problems import Turns, examples_of
from ..registration import make
from ..wrappers import TextIO
from .options import complete_id, settings_option

_TYPE = "Your response, one line"
_TYPE_LINES = "Your response; a line that holds only a full stop ends it"


@click.command("play")
@click.argument("id", shell_complete=complete_id)
@settings_option
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="which problem")
@click.option("--index", type=click.IntRange(0), help="row of the data set, in place of --seed")
@click.option(
    "--response", "responses", multiple=True, help="what to answer; repeat it for several turns"
)
@click.option("--show-answer", is_flag=True, help="show the response that earns 1, and play it")
@click.option("--lines", is_flag=True, help="type responses of several lines, each ended by '.'")
def command(
    id: str,
    settings: dict[str, Any],
    seed: int,
    index: int | None,
    responses: tuple[str, ...],
    show_answer: bool,
    lines: bool,
) -> None:
    """Be the model: see a problem, type a response, see the reward and its parts.

    \b
    Examples:
      mint-envs play mint/Math-v0 --set digits=1
      mint-envs play mint/Math-v0 --seed 3 --response 42
      mint-envs play mint/ToolUse-v0 --show-answer
    """
    env = TextIO(make(id, **settings))
    options = {} if index is None else {"index": index}
    observation, info = env.reset(seed=seed, options=options)
    click.echo(f"--- {id}, problem {info['problem_id']}\n{observation}")
    if show_answer:
        responses = responses or _full_mark(env)
    for response in _responses(responses, lines):
        _check_length(env, response)
        observation, reward, terminated, truncated, info = env.step(response)
        if responses:
            click.echo(f"--- response\n{response}")
        if terminated or truncated:
            _print_reward(reward, info)
            return
        click.echo(f"---\n{observation}")
    click.echo("--- the episode goes on; it had no more responses", err=True)
    sys.exit(1)


def _check_length(env: TextIO, response: str) -> None:
    core: Any = env.unwrapped
    length, most = len(core.codec.encode_response(response)), core.action_space.max_length
    require(
        length < most,  # the end of the turn is one more
        f"the response has {length} tokens, and an action has at most {most}",
    )


def _full_mark(env: TextIO) -> Turns:
    core: Any = env.unwrapped
    for turns in examples_of(core.task, core.problem):
        return turns
    raise SettingError("no worked example is known for this problem: type a response instead")


def _responses(given: Sequence[str], lines: bool) -> Iterator[str]:
    """Yield the responses given, else those typed."""
    if given:
        yield from given
        return
    if sys.stdin is None:  # it was closed before the start
        return
    click.echo(f"--- {_TYPE_LINES if lines else _TYPE} (Ctrl-D to leave)")
    read: Callable[[], str | None] = _lines if lines else _typed_line
    while (text := read()) is not None:
        yield text


def _typed_line() -> str | None:
    line = sys.stdin.readline()
    return line.rstrip("\n") if line else None


def _lines() -> str | None:
    read: list[str] = []
    while line := sys.stdin.readline():
        if line.strip() == ".":
            return "\n".join(read)
        read.append(line.rstrip("\n"))
    return "\n".join(read) or None


def _print_reward(reward: float, info: dict[str, Any]) -> None:
    click.echo(f"--- reward {reward:g}" if info["scored"] else "--- reward could not be measured")
    for title in ("parts", "metadata"):
        for name, value in info[title].items():
            click.echo(f"{title} {name}: {value}")
