"""``mint-grpo sft FILE``: training on responses that are given, a warm start for RL.

A row is a prompt and a response, or a chat with any number of the assistant's turns. Its tokens are
those that an episode of the same words would have: prompt, act, observation, act ... The loss is
cross-entropy on the acts alone, the mean of all tokens of a step. The local backend packs rows of
one prompt into one tree, and rows of like length into one pass; no row sees another.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, Field, ValidationError

from mint_envs.core import Message
from mint_envs.datasets import held_out, placed_rows
from mint_envs.errors import TokenizerError
from mint_envs.tokens import Codec

from .backends import Backend, Datum, Floats
from .config import SftConfig
from .data import FEWEST
from .errors import TrainerError, mistakes_said
from .grpo import adam_params
from .run import Run

_FIELDS = ("prompt", "response", "messages", "role", "content")
#: What would change what is learned, and is not read: of a row, and of a message.
_UNREAD = (
    *("tools", "functions", "system", "system_prompt", "history", "documents"),
    *("image", "images", "videos", "audios", "chat_template_kwargs"),
)
_UNREAD_IN_MESSAGES = (
    *("tool_calls", "function_call", "reasoning_content", "reasoning", "thinking", "prefix"),
)
#: What says of a row, or of a message, that it is not to be learned from, or less.
_WEIGHTS = ("weight", "train", "loss", "label")
_Text = Annotated[str, Field(min_length=1, strict=True)]


class _Said(BaseModel):
    role: Literal["system", "user", "assistant"]
    content: _Text


class _Prompted(BaseModel):
    prompt: _Text | Annotated[list[_Said], Field(min_length=1)]
    response: _Text


class _Chat(BaseModel):
    messages: Annotated[list[_Said], Field(min_length=1)]


@dataclass(frozen=True)
class GivenRow:
    """What stands in one row: a prompt, and by turns what is said and what is answered to that."""

    where: str  # line and file, for a message
    prompt: str | list[Message]
    turns: list[str]
    replies: list[list[Message]] = field(default_factory=list)  # after each turn but the last

    @property
    def key(self) -> str:
        """What tells its prompt from others."""
        return json.dumps(self.prompt, sort_keys=True)


def fit(
    given: tuple[Sequence[GivenRow], Sequence[GivenRow]],
    config: SftConfig,
    backend: Backend,
    run: Run,
) -> None:
    """Train ``backend`` on rows, from ``run.next_step`` to the last.

    ``given`` are those to train on and those held out, as ``given_rows`` returns them. Which rows
    a step has follows from ``config.seed`` and the step alone, so a resumed run goes on as the
    uninterrupted one would have.

    Raises:
        TrainerError: a row is longer than the model's context, or its template refuses it (file and
            line); the warm-up is as long as the run.
    """
    codec = Codec(backend.tokenizer)
    trained, held = given
    datums = [row_datum(row, codec, backend.max_context) for row in trained]
    kept = [row_datum(row, codec, backend.max_context) for row in held]
    batch = min(config.batch, len(datums))
    last = _last_step(config, len(datums), batch)
    paced = config.model_copy(update={"steps": last})

    @lru_cache(2)
    def order(epoch: int) -> Any:
        return np.random.default_rng([config.seed, epoch]).permutation(len(datums))

    def evaluate(step: int) -> None:
        if kept and config.eval_every:
            found = {"eval/loss": mean_loss(backend.logprobs(kept), kept), "eval/held_out": 1.0}
            run.log_eval(step, [(f"(held out, {len(kept)} rows)", found)])

    if run.next_step == 1:
        evaluate(0)
    for step in run.steps(last):
        start = time.perf_counter()
        first = (step - 1) * batch
        places = (divmod(first + i, len(datums)) for i in range(batch))
        chosen = [datums[order(epoch)[place]] for epoch, place in places]
        tokens = sum(float(datum.mask.sum()) for datum in chosen)
        weighed = [Datum(d.tokens, d.mask, d.logprobs, d.mask / tokens) for d in chosen]
        with run.undisturbed():
            update = backend.update(weighed, *config.loss, adam_params(paced, step))
        told = {"loss": mean_loss(update.logprobs, chosen)} if update.logprobs else {}
        told |= {f"update/{name}": value for name, value in sorted(update.metrics.items())}
        told |= {"rows": len(chosen), "tokens": tokens, "seconds": time.perf_counter() - start}
        run.log_fit(step, told)
        if config.eval_every and (step % config.eval_every == 0 or step == last):
            evaluate(step)
        if run.wants_checkpoint(step):
            run.save_checkpoint(step, backend, {})


def _last_step(config: SftConfig, rows: int, batch: int) -> int:
    last = config.steps or math.ceil(config.epochs * rows / batch)
    if config.warmup >= last > 0:  # by epochs, this is known only now
        raise TrainerError(f"warmup={config.warmup} must be less than the {last} steps of this run")
    return last


def mean_loss(logprobs: Sequence[Floats], datums: Sequence[Datum]) -> float:
    """Return the mean cross-entropy of all act tokens, in nats."""
    total = sum(float(lp[datum.mask > 0].sum()) for lp, datum in zip(logprobs, datums, strict=True))
    return -total / sum(float(datum.mask.sum()) for datum in datums)


def row_datum(row: GivenRow, codec: Codec, longest: int) -> Datum:
    """Return a row as tokens, with a mask on what is learned.

    Raises:
        TrainerError: it has more tokens than ``longest``, or the template refuses its messages.
    """
    chat = not isinstance(row.prompt, str)
    try:
        tokens = list(codec.encode_prompt(row.prompt))
        acts: list[tuple[int, int]] = []
        for number, turn in enumerate(row.turns):
            act = codec.encode_answer(turn, chat)
            acts.append((len(tokens), len(tokens) + len(act)))
            tokens += act
            if number < len(row.replies):
                tokens += codec.encode_reply(row.replies[number], chat, tokens[-1])
    except TokenizerError as error:
        raise TrainerError(f"{row.where}: {error}") from error
    if acts[0][0] == 0:
        raise TrainerError(f"{row.where}: the prompt has no token: a model goes on from one")
    if len(tokens) > longest:
        raise TrainerError(
            f"{row.where} has {len(tokens)} tokens, and the model has room for {longest}: shorten "
            "it, or leave it out"
        )
    mask = np.zeros(len(tokens))
    for start, end in acts:
        mask[start:end] = 1.0
    return Datum(tuple(tokens), mask, np.zeros(len(tokens)), np.zeros(len(tokens)))


# -- rows -----------------------------------------------------------------------------------------


def given_rows(config: SftConfig) -> tuple[list[GivenRow], list[GivenRow]]:
    """Return the rows to train on, and those that are held out: no prompt is on both sides.

    Those are the rows of ``eval_data``; else one prompt in ten, by a digest of it. Fewer than
    ``FEWEST`` different prompts are not divided: then none is held out.

    Raises:
        TrainerError: a file cannot be read, or a row is broken: file, line and field are named.
    """
    rows = _rows_in(config.data)
    if config.eval_data is not None:
        held = _rows_in(config.eval_data)
        asked = {row.key for row in held}
    else:
        keys = {row.key for row in rows}
        asked = {key for key in keys if len(keys) >= FEWEST and held_out(key)}
        held = [row for row in rows if row.key in asked]
    trained = [row for row in rows if row.key not in asked]
    if not trained:
        raise TrainerError(f"no row of {config.data!r} is left to train on: all are held out")
    return trained, held


def _rows_in(file: str) -> list[GivenRow]:
    with mistakes_said():
        placed = placed_rows(file)
    return [_checked_row(row, where) for where, row in placed]


def _checked_row(row: Mapping[str, Any], where: str) -> GivenRow:
    _refuse_unread(row, where)
    kind: type[BaseModel] = _Prompted if row.get("messages") is None else _Chat
    try:
        read = kind.model_validate(row)
    except ValidationError as error:
        # A prompt is neither text nor messages, for two reasons: what lies deepest says most.
        fault = max(error.errors(), key=lambda fault: len(fault["loc"]))
        path = ".".join(str(p) for p in fault["loc"] if isinstance(p, int) or p in _FIELDS)
        raise TrainerError(
            f"{where}: {path}: {fault['msg']} (it is {fault['input']!r:.60}). A row has 'prompt' "
            "and 'response', or 'messages'"
        ) from error
    if isinstance(read, _Chat):
        return _at_turns(read.messages, where)
    assert isinstance(read, _Prompted)
    if isinstance(read.prompt, str):
        return GivenRow(where, read.prompt, [read.response])
    return _at_turns([*read.prompt, _Said(role="assistant", content=read.response)], where)


def _refuse_unread(row: Mapping[str, Any], where: str) -> None:
    """Refuse a row that says more than is learned from it: it would be another lesson."""
    said = row.get("prompt") if row.get("messages") is None else row["messages"]
    found = [name for name in _UNREAD if row.get(name)]
    found += [name for name in _WEIGHTS if row.get(name) in (0, False)]
    for number, message in enumerate(said if isinstance(said, list) else ()):
        if isinstance(message, Mapping):
            unread = [name for name in _UNREAD_IN_MESSAGES if message.get(name)]
            unread += [name for name in _WEIGHTS if message.get(name) not in (None, 1, True)]
            found += [f"messages.{number}.{name}" for name in unread]
    if found:
        raise TrainerError(
            f"{where}: {found[0]} is not read, and would change what is learned. Write what the "
            "model is to see and say as 'content', or leave the field out"
        )


def _at_turns(messages: Sequence[_Said], where: str) -> GivenRow:
    """Return a chat divided at the assistant's turns."""
    parts: list[list[Message]] = [[]]
    turns: list[str] = []
    for number, said in enumerate(messages):
        if said.role != "assistant":
            parts[-1].append(Message(role=said.role, content=said.content))
            continue
        if not parts[-1]:
            raise TrainerError(f"{where}: messages.{number}: the assistant answers nothing there")
        turns.append(said.content)
        parts.append([])
    if parts.pop():
        last = len(messages) - 1
        raise TrainerError(f"{where}: messages.{last}: the last must be the assistant's")
    return GivenRow(where, parts[0], turns, parts[1:])
