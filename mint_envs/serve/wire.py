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
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetPydanticSchema,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError, core_schema

from ..core import Prompt, Reward
from ..executors import Answer, Lost
from ..executors.port import measured
from ..problems import ProblemRef

_FIELDS = 32
_VALUES = 300_000  # of one body, about: a batch of 256 programs with their tests has some thousands
_LONGEST = 1 << 18  # characters of a text: no response is longer, and work grows with it
_LARGEST = 1 << 14  # characters of JSON of the arguments of one item of some graders
_MAX_SEED = (1 << 63) - 1


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise PydanticCustomError("string_type", "Input should be a valid string")
    if len(value) > _LONGEST:
        raise PydanticCustomError(
            "too_long", f"text of {len(value)} characters: {_LONGEST} at most"
        )
    return value


def _small(value: Any) -> Any:
    """Refuse arguments so large that a grader could be kept busy with them."""
    if (size := len(json.dumps(value))) > _LARGEST:
        raise PydanticCustomError("too_large", f"{size} characters of JSON: {_LARGEST} at most")
    return value


def _few(value: Any) -> Any:
    """Refuse an object of very many fields at once: each would become an error of its own."""
    if isinstance(value, dict) and len(value) > _FIELDS:
        raise PydanticCustomError(
            "too_long", f"an object of {len(value)} fields: {_FIELDS} at most"
        )
    return value


#: Text of a response, lone surrogates too: pydantic's own ``str`` refuses those.
Text = Annotated[
    str,
    GetPydanticSchema(
        get_pydantic_core_schema=lambda *_: core_schema.no_info_plain_validator_function(_text),
        get_pydantic_json_schema=lambda *_: {"type": "string", "maxLength": _LONGEST},
    ),
]
Seed = Annotated[int, Field(ge=0, le=_MAX_SEED, strict=True)]
Flag = Annotated[bool, Field(strict=True)]
Number = Annotated[float, Field(allow_inf_nan=False, strict=True)]
Setting = Flag | Annotated[int, Field(strict=True)] | Number | Text | None
Settings = Annotated[
    dict[str, Setting],
    BeforeValidator(_few),
    Field(max_length=_FIELDS, description="The settings that /v1/envs lists as yours to choose."),
]
Env = Annotated[str, Field(description="A name that /v1/envs lists.", examples=["mint/Math-v0"])]


class Form(BaseModel):
    """A request; unknown fields are refused, so that no misspelt one is passed over."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _few_fields(cls, value: Any) -> Any:
        return _few(value)


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


class TurnForm(Form):
    response: Text
    cut: Annotated[
        Flag, Field(description="The response was cut off before its end: nothing of it is run.")
    ] = False
    turn: Annotated[
        Seed | None,
        Field(
            description="Which response it is, from 0. With it, sending the same again after a "
            "lost connection is harmless: the first answer comes back."
        ),
    ] = None


class MathItem(Form):
    """Arguments of ``mint_envs.math.grade``."""

    gold: Text
    response: Text
    strict: Flag = False
    format_credit: Annotated[Number, Field(ge=0, le=0.1)] = 0.0
    set_credit: Flag = False


class CodeItem(Form):
    """Arguments of ``mint_envs.code.grade``. Programs and test code run in the sandbox."""

    response: Text
    tests: Annotated[
        list[Any] | dict[str, Any],
        Field(
            description="[[expression, expected], ...], [{'stdin': ..., 'stdout': ...}, ...] or "
            "{'code': test code, 'entry_point': name}",
            examples=[[["add(1, 2)", 3]]],
        ),
    ]
    partial_credit: Flag = False
    sandbox_timeout_s: Annotated[Number, Field(ge=0.01)] = 5.0
    max_tests_per_problem: Annotated[int, Field(ge=1, le=1000, strict=True)] = 10
    language: Annotated[str, Field(max_length=20)] = "python"


class ToolUseItem(Form):
    """Arguments of ``mint_envs.tooluse.grade_calls``."""

    wanted: Annotated[
        list[dict[str, Any]], Field(fail_fast=True, max_length=64), AfterValidator(_small)
    ]
    made: Annotated[list[Any], Field(max_length=64), AfterValidator(_small)]
    tools: Annotated[list[dict[str, Any]], Field(fail_fast=True, max_length=256)] | None = None
    partial_credit: Flag = True


class ChatItem(Form):
    """Arguments of ``mint_envs.chat.grade_instructions``; instructions in IFEval's names."""

    response: Text
    instructions: Annotated[
        list[tuple[str, dict[str, Any]]],
        Field(max_length=64, examples=[[["punctuation:no_comma", {}]]]),
        AfterValidator(_small),
    ]
    prompt: Text = ""


ITEMS: dict[str, type[Form]] = {
    "math": MathItem,
    "code": CodeItem,
    "tooluse": ToolUseItem,
    "chat": ChatItem,
}


def grade_form(name: str, item: type[Form]) -> type[Form]:
    """Return the form of a batch of ``item``."""
    batch = Annotated[list[item], Field(fail_fast=True, min_length=1)]  # type: ignore[valid-type]
    return create_model(f"{name.capitalize()}Form", __base__=Form, items=(batch, ...))


# -- answers --------------------------------------------------------------------------------------


class RewardOut(BaseModel):
    score: float | None = Field(ge=0, le=1, description="null: not measured; leave it out, not 0")
    parts: dict[str, float]
    metadata: dict[str, Any]


class RewardsOut(BaseModel):
    rewards: list[RewardOut]


class MessageOut(BaseModel):
    role: str
    content: str


PromptOut = str | list[MessageOut]


class PromptItem(BaseModel):
    prompt: PromptOut
    problem_id: str


class PromptsOut(BaseModel):
    prompts: list[PromptItem]


class SessionOut(BaseModel):
    id: str
    seed: int | None
    index: int | None
    prompt: PromptOut
    problem_id: str
    idle_s: float = Field(description="seconds without a request after which it is closed")


class TurnOut(BaseModel):
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


class EnvsOut(BaseModel):
    envs: list[EnvOut]
    graders: list[str]
    limits: dict[str, float]


class HealthOut(BaseModel):
    status: Literal["ok"]
    version: str


class Fault(BaseModel):
    """What went wrong, and what to do."""

    detail: str


def reward_out(found: Reward | Lost) -> dict[str, Any]:
    reward = measured(found)
    return {"score": reward.score, "parts": reward.parts, "metadata": reward.metadata}


def prompt_out(prompt: Prompt) -> Any:
    return prompt if isinstance(prompt, str) else [dict(message) for message in prompt]


def turn_out(turn: int, answer: Answer) -> dict[str, Any]:
    over = isinstance(answer, Reward)
    return {
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
            self._json = read_json(await self.body())
        return self._json


def read_json(body: bytes) -> Any:
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
    """JSON in ASCII, so that any text survives; no NaN leaves."""

    def render(self, content: Any) -> bytes:
        try:
            return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
        except (ValueError, TypeError):
            return json.dumps(plain(content), allow_nan=False).encode()


def plain(value: Any) -> Any:
    """Return ``value`` as plain JSON; what is none becomes text."""
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in value]
    if isinstance(value, str | int | None):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    return str(value)
