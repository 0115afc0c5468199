"""Reward functions of any library, called through one form: ``call(row, prompt, response)``.

Which library a function is made for is read from the names of its parameters.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...core import Prompt
from ...datasets import Row
from ...errors import SettingError
from ...problems import as_text
from ...process_local import ProcessLocal
from ...records.fields import GOLDS, gold_of

Call = Callable[[Row, Prompt, str], Any]

RESPONSES = (
    "response", "completion", "output", "generation", "solution_str", "prediction", "model_output",
    "model_response", "response_text", "response_str", "generated_text", "pred", "messages",
    "conversation", "candidate", "given_answer", "hypothesis", "predicted", "student_answer",
)  # fmt: skip
#: Token ids of the response: here the bytes of its text.
TOKENS = ("response_ids", "token_ids", "output_ids", "response_tokens", "tokens")
_PLAIN_GOLDS = {name for name in GOLDS if "." not in name}
_MANY = {f"{name}s" for name in RESPONSES[:-7]} - {"completions"}
_CONVERSATIONS = ("messages", "conversation")  # with the prompt in them
_SAMPLES = ("sample", "row", "problem", "example", "item", "doc", "data", "record")
_HARMLESS = ("log_extra", "log_metric", "trainer_state")
_OF_TRL = {"prompts", "completions", "completion_ids", *_HARMLESS}
_OF_VERL = {"data_source", "solution_str", "ground_truth", "extra_info"}


def adapt(function: Callable[..., Any], name: str, rows: Sequence[Row] = ()) -> Call:
    """Return ``function`` in the one form.

    Known: TRL (``prompts``, ``completions``), verl (``solution_str``, ``ground_truth``; in batches
    their plurals), OpenRLHF (``queries``, ``prompts``, ``labels``), and plain functions whose
    parameters are called ``response`` (or ``completion``, ``output``), ``prompt``, ``answer`` (or
    ``gold``, ``ground_truth``), ``sample`` (or ``row``), or as a field of the rows.

    Args:
        rows: if given, a parameter that none of them fills is refused.

    Raises:
        SettingError: the signature is none of these.
    """
    call, needed = _adapted(function, name)
    fields = {key for row in rows for key in row}
    missing = sorted(needed - fields) if rows else []
    if any(gold_of(row) is not None for row in rows):
        missing = [key for key in missing if not _is_gold(key)]
    if missing:
        hint = ": it is a method, name one of an instance" if missing == ["self"] else ""
        raise SettingError(
            f"{name} has a parameter {missing[0]!r}, and the rows have only "
            f"{', '.join(sorted(map(str, fields)))}{hint}"
        )
    return call


def _adapted(function: Callable[..., Any], name: str) -> tuple[Call, set[str]]:
    """Return the function in the one form, and the fields without which it cannot be called."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError) as error:
        raise SettingError(f"{name} cannot be called as a reward function: {error}") from None
    if {"completions", "completion_ids"} & set(parameters):
        return _trl(function, parameters), _without_default(parameters) - _OF_TRL
    if "solution_str" in parameters:
        return _verl(function, parameters), _without_default(parameters) - _OF_VERL
    if "solution_strs" in parameters:
        of_batches = {f"{key}s" for key in _OF_VERL}
        return _verl_batch(function, parameters), _without_default(parameters) - of_batches
    if {"queries", "prompts"} <= set(parameters):
        return _open_rlhf(function), set()
    if _MANY & set(parameters):
        return _plain_batch(function, parameters)
    return _from_signature(function, parameters, name)


def _is_gold(name: str) -> bool:
    """Whether a parameter takes the right answer, or those of a batch."""
    return name in _PLAIN_GOLDS or name.removesuffix("s") in _PLAIN_GOLDS


def _plain_batch(
    function: Callable[..., Any], parameters: Mapping[str, inspect.Parameter]
) -> tuple[Call, set[str]]:
    """A function of lists whose names are those of a plain function with an s."""
    makers = {
        name: _maker(p.replace(name=name.removesuffix("s")), number)
        for number, (name, p) in enumerate(parameters.items())
    }

    def call(cases: Sequence[Case]) -> Any:
        given = {
            name: [make(*case) for case in cases] for name, (kind, make) in makers.items() if kind
        }
        return function(**given)

    needed = {name.removesuffix("s") for name, (kind, _) in makers.items() if kind == "field"}
    singular = {name.removesuffix("s") for name in _without_default(parameters)}
    return Batched(call, _sees(parameters)), needed & singular


def _without_default(parameters: Mapping[str, inspect.Parameter]) -> set[str]:
    starred = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {n for n, p in parameters.items() if p.default is p.empty and p.kind not in starred}


def _running_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


_loop = ProcessLocal(_running_loop)


def _finish(value: Any) -> Any:
    """Return the value; of an async function, once it is there.

    All run in one loop in a thread of its own, as in TRL: what they keep belongs to their loop.
    """
    if not inspect.isawaitable(value):
        return value
    found, error = asyncio.run_coroutine_threadsafe(_awaited(value), _loop.get()).result()
    if error is not None:
        raise error
    return found


async def _awaited(value: Any) -> tuple[Any, BaseException | None]:
    try:
        return await value, None
    except BaseException as error:  # SystemExit would end the loop
        return None, error


def _accepted_arguments(
    parameters: Mapping[str, inspect.Parameter], offered: Mapping[str, Any]
) -> Any:
    """Return of ``offered`` what the function has a parameter for."""
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return dict(offered)
    return {key: value for key, value in offered.items() if key in parameters}


#: One response to be scored: its row, the row's prompt, the text.
Case = tuple[Row, Prompt, str]


class Batched:
    """A function of lists: called with lists of one, and by ``many`` with longer ones.

    ``sees``: what it is given beside the response, as far as its parameters say.
    """

    def __init__(self, function: Callable[[Sequence[Case]], Any], sees: set[str]) -> None:
        self._function, self.sees = function, sees

    def __call__(self, row: Row, prompt: Prompt, response: str) -> Any:
        return _only_reward(_finish(self._function([(row, prompt, response)])))

    def many(self, cases: Sequence[Case]) -> list[Any]:
        """Return the rewards of several responses, from one call.

        Raises:
            ValueError: it returns another number of them.
        """
        return _rewards(_finish(self._function(cases)), len(cases))


def _trl(function: Callable[..., Any], parameters: Mapping[str, inspect.Parameter]) -> Call:
    shaped = _Shaped()

    def scored(cases: Sequence[Case], chat: bool) -> Any:
        texts = [text for _, _, text in cases]
        names = dict.fromkeys(key for row, _, _ in cases for key in row)
        offered: dict[str, Any] = {key: [row.get(key) for row, _, _ in cases] for key in names}
        golds = [key for key in parameters if key not in names and _is_gold(key)]
        offered |= {key: [gold_of(row) for row, _, _ in cases] for key in golds}
        offered |= {
            "prompts": [prompt for _, prompt, _ in cases],
            "completions": [_as_message(text) if chat else text for text in texts],
            "completion_ids": [list(text.encode("utf-8", "replace")) for text in texts],
        }
        extra: dict[str, Any] = dict.fromkeys(_HARMLESS[:2], lambda *_: None)
        given = {**extra, "trainer_state": None, **offered}
        return function(**_accepted_arguments(parameters, given))

    def call(cases: Sequence[Case]) -> Any:
        chat = not isinstance(cases[0][1], str)
        return shaped(lambda messages: scored(cases, messages), chat)

    return Batched(call, _sees(parameters))


def _as_message(text: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text}]


class _Shaped:
    """Whether a function wants messages or text is found by its first call that works."""

    def __init__(self) -> None:
        self._messages: bool | None = None

    def __call__(self, call: Callable[[bool], Any], likely: bool) -> Any:
        if self._messages is not None:
            return call(self._messages)
        try:
            found = _finish(call(likely))
            self._messages = likely
        except (TypeError, AttributeError, LookupError) as error:
            try:
                found = _finish(call(not likely))
            except Exception:
                raise error from None
            self._messages = not likely
        return found


def _sees(parameters: Mapping[str, inspect.Parameter]) -> set[str]:
    """Return what a function is given beside the response, as far as its parameters say.

    "more": of ``**kwargs`` nobody knows what it takes.
    """
    singular = {name.removesuffix("s") for name in parameters} | set(parameters)
    found = {"prompt"} if singular & {"prompt", "query", "querie", "question"} else set()
    found |= {"gold"} if singular & {*GOLDS, "label"} else set()
    known = {"completion", "completion_id", *RESPONSES, "prompt", *_HARMLESS, *GOLDS}
    starred = {n for n, p in parameters.items() if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}
    others = {name for name in parameters if {name, name.removesuffix("s")}.isdisjoint(known)}
    more = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    return found | ({"row"} if others - starred else set()) | ({"more"} if more else set())


def _verl(function: Callable[..., Any], parameters: Mapping[str, inspect.Parameter]) -> Call:
    def call(row: Row, prompt: Prompt, response: str) -> Any:
        return _finish(function(**_accepted_arguments(parameters, _verl_offers(row, response))))

    return call


def _verl_batch(function: Callable[..., Any], parameters: Mapping[str, inspect.Parameter]) -> Call:
    def call(cases: Sequence[Case]) -> Any:
        every = [_verl_offers(row, response) for row, _, response in cases]
        offered = {f"{key}s": [one[key] for one in every] for key in every[0]}
        return function(**_accepted_arguments(parameters, offered))

    return Batched(call, _sees(parameters) | {"gold"})


def _verl_offers(row: Row, response: str) -> dict[str, Any]:
    return {
        "data_source": row.get("data_source", "bench"),
        "solution_str": response,
        "ground_truth": gold_of(row),
        "extra_info": row.get("extra_info") or {},
    }


def _open_rlhf(function: Callable[..., Any]) -> Call:
    def call(cases: Sequence[Case]) -> Any:
        prompts = [as_text(prompt) for _, prompt, _ in cases]
        queries = [text + said for text, (_, _, said) in zip(prompts, cases, strict=True)]
        return function(queries, prompts, [gold_of(row) for row, _, _ in cases])

    return Batched(call, {"prompt", "gold"})


def _from_signature(
    function: Callable[..., Any], parameters: Mapping[str, inspect.Parameter], name: str
) -> tuple[Call, set[str]]:
    makers = {p.name: _maker(p, n) for n, p in enumerate(parameters.values())}
    if "response" not in {kind for kind, _ in makers.values()}:
        raise SettingError(
            f"{name}{inspect.signature(function)}: no parameter takes the response. Name one "
            f"{', '.join(RESPONSES[:3])}; the others prompt, answer, sample or a field of the rows"
        )
    placed = {n for n, p in parameters.items() if p.kind is p.POSITIONAL_ONLY}
    starred = {p.kind for p in parameters.values()}
    shaped = _Shaped()
    conversation = bool(parameters.keys() & set(_CONVERSATIONS))

    def called(row: Row, prompt: Prompt, response: Any) -> Any:
        given = {name: make(row, prompt, response) for name, (kind, make) in makers.items() if kind}
        if inspect.Parameter.VAR_KEYWORD in starred:
            given = {**{k: v for k, v in row.items() if k not in parameters}, **given}
        first = [given.pop(name) for name in makers if name in placed]
        return function(*first, **given)

    def call(row: Row, prompt: Prompt, response: str) -> Any:
        def scored(messages: bool) -> Any:
            before = _prompt_messages(prompt) if conversation else []
            said: Any = [*before, *_as_message(response)] if messages else response
            return called(row, prompt, said)

        return _finish(shaped(scored, conversation))

    call.sees = _sees(parameters)  # type: ignore[attr-defined]
    needed = {n for n, (kind, _) in makers.items() if kind == "field"}
    return call, needed & _without_default(parameters)


def _prompt_messages(prompt: Prompt) -> list[Any]:
    return [{"role": "user", "content": prompt}] if isinstance(prompt, str) else list(prompt)


def _maker(parameter: inspect.Parameter, number: int) -> tuple[str, Call]:
    """Return (what a parameter takes, how it is filled); "" for the starred ones."""
    name = parameter.name
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        return "", lambda row, prompt, response: None
    if name in (*RESPONSES, *TOKENS) or (number == 0 and name == "text"):
        return "response", lambda row, prompt, response: _as_taken(name, response)
    if name in ("prompt", "query"):
        return "prompt", lambda row, prompt, response: prompt
    if name == "question":
        return "prompt", lambda row, prompt, response: _question(row, prompt)
    if name in _SAMPLES:
        return "sample", lambda row, prompt, response: row
    if name in GOLDS:
        return "gold", lambda row, prompt, response: row.get(name, gold_of(row))
    if parameter.default is parameter.empty:
        return "field", lambda row, prompt, response: row[name]
    return "field", lambda row, prompt, response: row.get(name, parameter.default)


def _as_taken(name: str, response: Any) -> Any:
    """The response as a parameter of this name takes it: token ids are those of bytes."""
    if name in TOKENS and isinstance(response, str):
        return list(response.encode("utf-8", "replace"))
    return response


def _question(row: Row, prompt: Prompt) -> str:
    """The row's own question as text; else what the prompt says."""
    own = row.get("question")
    if isinstance(own, str):
        return own
    return as_text(prompt)


def _only_reward(value: Any) -> Any:
    """Return the only reward of a batch of one."""
    value = _rewards_listed(value)
    return _rewards(value, 1)[0] if isinstance(value, list | tuple) else value


def _rewards_listed(value: Any) -> Any:
    """Return the rewards of a batch as a list, whatever they come in."""
    if isinstance(value, Mapping):
        value = value.get("rewards", value.get("scores"))
    if hasattr(value, "tolist"):
        value = value.tolist()
    return list(value) if isinstance(value, Iterator) else value


def _rewards(value: Any, count: int) -> list[Any]:
    value = _rewards_listed(value)
    found = list(value) if isinstance(value, list | tuple) else [value]
    if len(found) != count:
        what = "completion" if count == 1 else "completions"
        raise ValueError(f"{count} {what} got {len(found)} rewards")
    return found


def no_number(value: Any) -> str:
    """Return what is wrong with a reward that is no number: it follows its value and "is"."""
    kind = f"a {type(value).__name__}"
    if isinstance(value, Mapping) and not {"score", "reward"} & set(value):
        return f"{kind} without 'score', where the reward is read: return {{'score': number, ...}}"
    return f"{kind}, not a number"


def number_of(value: Any) -> Any:
    """Return the number in what a reward function returned: its score, its item, or itself."""
    if isinstance(value, tuple) and value and isinstance(value[0], int | float):
        value = value[0]  # with what the function has to say of it
    if isinstance(value, Mapping) and (keys := [k for k in ("score", "reward") if k in value]):
        value = value[keys[0]]
    elif hasattr(value, "score") and not callable(value.score):
        value = value.score
    if hasattr(value, "item") and callable(value.item):
        value = value.item()
    return value
