"""What goes over the wire: the forms of requests and answers, and strict JSON.

Text may hold lone surrogates, as decoded text of a model may; they go both ways as JSON escapes.
NaN and infinity are no JSON and are refused. A score that was not measured is ``null``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NoReturn

from fastapi import Request
from fastapi.responses import JSONResponse
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError

from ..core import Prompt, Reward
from ..executors import Answer, Lost
from ..executors.port import lost_as_unmeasured
from ..forms import FIELDS, Flag, Form, Number, Text, few
from ..problems import ProblemRef
from .references import WIRE

_VALUES = 300_000  # of one body, about: a batch of 256 programs with their tests has some thousands
_MAX_SEED = (1 << 63) - 1


Seed = Annotated[int, Field(ge=0, le=_MAX_SEED, strict=True)]
Setting = Flag | Annotated[int, Field(strict=True)] | Number | Text | None
Settings = Annotated[
    dict[str, Setting],
    BeforeValidator(few),
    Field(max_length=FIELDS, description="The settings that /v1/envs lists as yours to choose."),
]
Env = Annotated[str, Field(description="A name that /v1/envs lists.", examples=["mint/Math-v0"])]


class Problem(Form):
    """Names a problem by its ``seed`` (as ``reset(seed=)``) or its ``index``: one of them."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"oneOf": [{"required": ["seed"]}, {"required": ["index"]}]},
    )
    seed: Seed = Field(default=None, validate_default=False)  # type: ignore[assignment]
    index: Seed = Field(default=None, validate_default=False)  # type: ignore[assignment]

    @model_validator(mode="after")
    def _one_of_both(self) -> Problem:
        if (self.seed is None) == (self.index is None):
            raise PydanticCustomError("one_of", "give 'seed' or 'index', and not both")
        return self

    @property
    def ref(self) -> ProblemRef:
        return ProblemRef(index=self.index, seed=self.seed)


class Scored(Problem):
    """A response to score: text, or all responses of an episode of several turns."""

    response: Text | Annotated[list[Text], Field(fail_fast=True, min_length=1, max_length=1000)]

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.response,) if isinstance(self.response, str) else tuple(self.response)


class ScoreForm(Form):
    env: Env
    settings: Settings = {}
    items: Annotated[list[Scored], Field(fail_fast=True, min_length=1)]


class PromptsForm(Form):
    env: Env
    settings: Settings = {}
    problems: Annotated[list[Problem], Field(fail_fast=True, min_length=1)]


class SessionForm(Form):
    """A new session; without ``seed`` and ``index`` the server draws a seed."""

    env: Env
    settings: Settings = {}
    seed: Seed | None = None
    index: Seed | None = None

    @model_validator(mode="after")
    def _not_both(self) -> SessionForm:
        if self.seed is not None and self.index is not None:
            raise PydanticCustomError("one_of", "give 'seed' or 'index', and not both")
        return self

    def ref(self, drawn: int) -> ProblemRef:
        """Return which problem is wanted: that of the seed ``drawn``, if none is named."""
        if self.seed is None and self.index is None:
            return ProblemRef(seed=drawn)
        return ProblemRef(index=self.index, seed=self.seed)


Session = Annotated[
    str,
    Field(
        max_length=32_768,
        description="What the last answer gave. It is signed, not secret; any process of the "
        "server that has the key can go on with it.",
    ),
]


class TurnForm(Form):
    session: Session
    response: Text
    cut: Annotated[
        Flag, Field(description="The response was cut off before its end: nothing of it is run.")
    ] = False
    said: Annotated[
        list[Text] | None,
        Field(
            max_length=1000,
            description="The responses before this one, in order. They are wanted by a process "
            "that has not got them, which says so by 428.",
        ),
    ] = None


class CloseForm(Form):
    session: Session


def grade_form(name: str, item: type[Form]) -> type[Form]:
    """Return the form of a batch of ``item``."""
    batch = Annotated[list[item], Field(fail_fast=True, min_length=1)]  # type: ignore[valid-type]
    return create_model(f"{name.capitalize()}Form", __base__=Form, items=(batch, ...))


# -- answers --------------------------------------------------------------------------------------


class RewardOut(BaseModel):
    score: float | None = Field(ge=0, le=1, description="null: not measured; leave it out, not 0")
    parts: dict[str, float]
    metadata: dict[str, Any]


class Answered(BaseModel):
    """Every answer says which wire it speaks: within a version fields are added, never changed."""

    version: int = Field(WIRE, description="of the wire")


class RewardsOut(Answered):
    rewards: list[RewardOut]


class MessageOut(BaseModel):
    role: str
    content: str


PromptOut = str | list[MessageOut]


class PromptItem(BaseModel):
    prompt: PromptOut
    problem_id: str


class PromptsOut(Answered):
    prompts: list[PromptItem]


class SessionOut(Answered):
    session: str = Field(description="to be sent back with the first response")
    seed: int | None
    index: int | None
    prompt: PromptOut
    problem_id: str
    idle_s: float = Field(description="seconds without a response for which it is gone on with")
    movable: bool = Field(description="any process of the server can go on with it")
    why_held: str | None = Field(description="why not; null if it is movable")


class TurnOut(Answered):
    session: str | None = Field(description="for the next response; null at the end")
    turn: int = Field(description="responses so far")
    done: bool
    reply: PromptOut | None = Field(description="what the environment says next; null at the end")
    reward: RewardOut | None = Field(description="null while the episode goes on")


class SettingOut(BaseModel):
    type: str
    default: Any
    help: str
    yours: bool = Field(description="a client may choose it")


class EnvOut(BaseModel):
    name: str
    id: str
    single_turn: bool
    size: int | None = Field(description="problems by index; null: endless")
    stop: list[str]
    settings: dict[str, SettingOut]


class EnvsOut(Answered):
    envs: list[EnvOut]
    graders: list[str]
    limits: dict[str, float]


class HealthOut(Answered):
    status: Literal["ok"]
    package: str = Field(description="the version of mint-envs")


class Fault(Answered):
    """What went wrong, and what to do."""

    detail: str


def reward_out(found: Reward | Lost) -> dict[str, Any]:
    reward = lost_as_unmeasured(found)
    return {"score": reward.score, "parts": reward.parts, "metadata": reward.metadata}


def prompt_out(prompt: Prompt) -> Any:
    return prompt if isinstance(prompt, str) else [dict(message) for message in prompt]


def turn_out(session: str | None, turn: int, answer: Answer) -> dict[str, Any]:
    over = isinstance(answer, Reward)
    return {
        "session": session,
        "turn": turn,
        "done": over,
        "reply": None if isinstance(answer, Reward) else prompt_out(answer),
        "reward": reward_out(answer) if isinstance(answer, Reward) else None,
    }


# -- JSON -----------------------------------------------------------------------------------------


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON: send null or a finite number")


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _refuse(digits[:40])


class StrictRequest(Request):  # type: ignore[misc]
    """A request whose JSON may hold no NaN, no infinity, no endless depth and no endless number
    of values, which would hold up the event loop while it is read."""

    async def json(self) -> Any:
        if not hasattr(self, "_json"):
            self._json = read_strict_json(await self.body())
        return self._json


def read_strict_json(body: bytes) -> Any:
    """Return what strict JSON says.

    Raises:
        JSONDecodeError: it is none, or has too many values.
    """
    if sum(map(body.count, (b"[", b"{", b","))) > _VALUES:  # those within text too; never mind
        raise json.JSONDecodeError(f"more than {_VALUES} values", "", 0)
    try:
        return json.loads(body, parse_constant=_refuse, parse_float=_finite)
    except json.JSONDecodeError:
        raise
    except (ValueError, RecursionError) as error:
        raise json.JSONDecodeError(str(error)[:200], "", 0) from None


class StrictJSON(JSONResponse):  # type: ignore[misc]
    """JSON in ASCII, so that any text survives; no NaN leaves. It says which wire it is."""

    def render(self, content: Any) -> bytes:
        content = {"version": WIRE, **content}
        try:
            return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
        except (ValueError, TypeError):
            return json.dumps(plain_json(content), allow_nan=False).encode()


def plain_json(value: Any) -> Any:
    """Return ``value`` as plain JSON; what is none becomes text."""
    if isinstance(value, Mapping):
        return {str(key): plain_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_json(one) for one in value]
    if isinstance(value, str | int | None):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    return str(value)
