"""Who answers: the ``Policy`` port, a double for tests, and a model behind an address.

    policy = policy_of("openai:Qwen/Qwen3-8B", base_url="http://localhost:8000/v1")
    ((one, two),) = policy.sample(["What is 2 + 3?"], n=2, max_tokens=256, temperature=1.0, seed=0)

``policy_of`` finds a policy by name in the entry-point group ``mint_envs.policies``, where any
package may add its own. ``openai`` is here; ``local`` and ``run`` come with the trainer.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Protocol, TypeVar, runtime_checkable

from .core import Prompt
from .errors import SettingError, did_you_mean, require

log = logging.getLogger("mint_envs.policies")
T = TypeVar("T")

GROUP = "mint_envs.policies"
_OPENAI = EntryPoint("openai", "mint_envs.policies:OpenAIPolicy", GROUP)


class ModelText(str):
    """A response that knows how it came: the text, and what is beside it.

    ``cut``: it ended at ``max_tokens``. ``prompt_tokens`` and ``tokens``: how many the prompt and
    the response had; None where the policy does not say. ``ids`` and ``logprobs``: its tokens as
    they were sampled, with the end of the turn. Any policy may return it for a text.
    """

    __slots__ = ("cut", "ids", "logprobs", "prompt_tokens", "tokens")
    cut: bool
    prompt_tokens: int | None
    tokens: int | None
    ids: Sequence[int] | None
    logprobs: Sequence[float] | None

    def __new__(
        cls,
        text: str,
        cut: bool = False,
        prompt_tokens: int | None = None,
        tokens: int | None = None,
        ids: Sequence[int] | None = None,
        logprobs: Sequence[float] | None = None,
    ) -> ModelText:
        self = super().__new__(cls, text)
        self.cut, self.prompt_tokens, self.tokens = cut, prompt_tokens, tokens
        self.ids, self.logprobs = ids, logprobs
        return self


#: Asks a service through a client; takes the fields of a request.
Ask = Callable[[Any, Any, Mapping[str, Any]], Awaitable[ModelText]]
#: For each prompt, ``n`` responses; None is one that could not be had: unmeasured, and not "".
Texts = list[list[str | None]]


@runtime_checkable
class Policy(Protocol):
    """Whoever answers prompts: a model on this machine or behind an address, a test double.

    It may have more: ``concurrency``, how many calls of ``sample`` it takes at a time, from several
    threads (without it, one); ``style``, the ``ChatStyle`` of its template; ``codec``, the
    ``mint_envs.tokens.Codec`` of its tokenizer: it may then be played token by token, takes
    a ``TokenPrompt`` as it is, and says of each response which ``ids`` were sampled.
    """

    def sample(
        self, prompts: Sequence[Prompt], n: int, max_tokens: int, temperature: float, seed: int
    ) -> Texts:
        """Return ``n`` responses to each prompt, in order.

        Args:
            prompts: each a text, or chat messages.
            n: responses to one prompt, 1 or more.
            max_tokens: longest response, in tokens; one that is cut there is returned as it is.
            temperature: 0 is greedy.
            seed: the same prompts and seed give the same responses, where a policy can do that.

        Returns:
            The texts without their stop token, else as they were written: thoughts included. A
            response that could not be had (no connection, a prompt that is too long) is None.

        Raises:
            SettingError: ``n``, ``max_tokens`` or ``temperature`` out of range.
        """
        ...


def check_request(n: int, max_tokens: int, temperature: float) -> None:
    """Raise SettingError if ``Policy.sample`` cannot be asked for this.

    Args:
        n: samples, at least 1.
        max_tokens: of a response, at least 1.
        temperature: from 0 (greedy) to 100.
    """
    require(n >= 1, f"n={n} must be 1 or more")
    require(max_tokens >= 1, f"max_tokens={max_tokens} must be 1 or more")
    require(0 <= temperature <= 100, f"temperature={temperature} must be from 0 to 100")


class ScriptedPolicy:
    """A policy whose responses are a function of the prompt, for tests.

    Args:
        rule: takes a prompt, and the number of the response to it from 0 up; returns the text,
            or None for one that cannot be had.

    ``asked`` holds the prompts of all calls, in order.
    """

    def __init__(self, rule: Callable[[Prompt, int], str | None]) -> None:
        self._rule = rule
        self.asked: list[Prompt] = []

    def sample(
        self, prompts: Sequence[Prompt], n: int, max_tokens: int, temperature: float, seed: int
    ) -> Texts:
        check_request(n, max_tokens, temperature)
        self.asked += prompts
        return [[self._rule(prompt, number) for number in range(n)] for prompt in prompts]


# -- by name --------------------------------------------------------------------------------------


def policy_of(spec: str, *arguments: Any, **settings: Any) -> Policy:
    """Return the policy that is named ``spec``: ``"openai:MODEL"``, ``"local"``, ``"run:FOLDER"``.

    What follows the colon is the first argument of what the name stands for.

    Raises:
        SettingError: the name is unknown, a setting is, or what is named cannot be used.
    """
    name, colon, first = spec.partition(":")
    factory = _factory(name)
    given = (first, *arguments) if colon else arguments
    try:
        inspect.signature(factory).bind(*given, **settings)
    except TypeError as error:
        raise SettingError(f"policy {spec!r}: {error}") from error
    made = factory(*given, **settings)
    require(isinstance(made, Policy), f"policy {spec!r} is {made!r}, which has no sample()")
    return made  # type: ignore[no-any-return]


def policy_names() -> list[str]:
    """Return the names that ``policy_of`` knows, sorted."""
    return sorted(_installed())


def _installed() -> dict[str, EntryPoint]:
    """Ours is found without being installed, and is no other's to replace."""
    return {**{point.name: point for point in entry_points(group=GROUP)}, _OPENAI.name: _OPENAI}


def _factory(name: str) -> Any:
    found = _installed()
    require(name in found, f"there is no policy {name!r}. {did_you_mean(name, found)}")
    point = found[name]
    try:
        return point.load()
    except Exception as error:  # another package's module: whatever it raises
        where = f"{point.value} of {point.dist.name}" if point.dist else point.value
        raise SettingError(
            f"policy {name!r} ({where}) cannot be loaded: {type(error).__name__}: {error}"
        ) from error


# -- a model behind an address --------------------------------------------------------------------

_HINTS = {
    400: "the model or an option may not suit it",
    401: "give its key: key=...",
    403: "this key may not use this model",
    404: "check base_url (it ends in /v1, as a rule) and model",
    422: "the model or an option may not suit it",
}
#: Fields of a request that ``sample`` sets, or that would give another number of responses.
_RESERVED = ("model", "messages", "n", "stream", "temperature", "seed")


class OpenAIPolicy:
    """A model at any OpenAI-compatible address. It needs ``pip install 'mint-envs[judge]'``.

    A prompt that is a text is sent as one message of the user's. Thoughts that a server keeps
    apart are put back, between ``<think>`` and ``</think>``. Each response is a request of its
    own, with a seed of its own.

    Args:
        model: its name there.
        base_url: the address, up to and without ``/chat/completions``.
        key: the key, or None where none is needed. It is sent, and shown nowhere.
        options: more fields of a request; one that is None is left out
            (``{"max_tokens": None, "max_completion_tokens": 512}``). With ``{"logprobs": True,
            "return_token_ids": True}`` vLLM gives the tokens as they were sampled.
        concurrency: most requests at one time.
        retries: how often a request is made again.
        timeout_s: seconds for one request.
        backoff_s: seconds of the first pause; each next one is twice as long.

    Raises:
        SettingError: a value out of range, or a package that is missing. No message shows a key.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        key: str | None = None,
        options: Mapping[str, Any] | None = None,
        *,
        concurrency: int = 8,
        retries: int = 5,
        timeout_s: float = 600.0,
        backoff_s: float = 0.5,
    ) -> None:
        require(bool(model.strip()), "model is the name of the model at the address; it is empty")
        require(base_url.startswith(("http://", "https://")), f"base_url={base_url!r}: http://...")
        require(concurrency >= 1, f"concurrency={concurrency} must be 1 or more")
        require(0 <= retries <= 100, f"retries={retries} must be from 0 to 100")
        require(timeout_s > 0, f"timeout_s={timeout_s} must be above 0, seconds")
        for name in options or {}:
            require(name not in _RESERVED, f"options may not set {name!r}: sample() does")
        self.model, self.base_url = model, base_url.rstrip("/").removesuffix("/chat/completions")
        self.concurrency = concurrency
        self._key = (key or "").strip()
        self._options = dict(options or {})
        self._limits: dict[str, Any] = {
            "concurrency": concurrency, "retries": retries,
            "timeout_s": timeout_s, "backoff_s": backoff_s,
        }  # fmt: skip
        self._service()

    def __repr__(self) -> str:
        return f"OpenAIPolicy({self.model!r}, base_url={self.base_url!r})"

    def sample(
        self, prompts: Sequence[Prompt], n: int, max_tokens: int, temperature: float, seed: int
    ) -> Texts:
        check_request(n, max_tokens, temperature)
        asked = [
            self._fields(prompt, max_tokens, temperature, seed + i * n + k)
            for i, prompt in enumerate(map(self._as_sent, prompts))
            for k in range(n)
        ]
        texts = self._gathered(asked, self._ask_text)
        return [texts[i * n : (i + 1) * n] for i in range(len(prompts))]

    def _as_sent(self, prompt: Prompt) -> Any:
        return _chat_messages(prompt)

    def _fields(
        self, prompt: Any, max_tokens: int, temperature: float, seed: int
    ) -> dict[str, Any]:
        fields = {"max_tokens": max_tokens, **self._options}
        fields |= {"model": self.model, "messages": prompt}
        fields |= {"temperature": temperature, "seed": seed % 2**31}
        return {name: value for name, value in fields.items() if value is not None}

    def _service(self) -> Any:
        """Return what asks; made anew for each call, since it belongs to one event loop."""
        try:
            from .completions import ChatService
        except ImportError as error:
            raise SettingError(
                f"policy 'openai' needs {error.name}: pip install 'mint-envs[judge]'"
            ) from error
        return ChatService(self.base_url, self._read_key, "key", _HINTS, **self._limits)

    def _read_key(self) -> str:
        return self._key

    async def _ask_text(self, service: Any, client: Any, fields: Mapping[str, Any]) -> ModelText:
        found: ModelText = await service.ask(client, fields, _with_thought)
        return found

    def _gathered(self, asked: Sequence[Mapping[str, Any]], ask: Ask) -> list[str | None]:
        """Return what ``ask`` gives for each request; None where there is no answer."""
        return run_apart(self._all(asked, ask))

    async def _all(self, asked: Sequence[Mapping[str, Any]], ask: Ask) -> list[str | None]:
        service = self._service()
        async with service.client() as client:
            answers = [ask(service, client, fields) for fields in asked]
            found = await asyncio.gather(*answers, return_exceptions=True)
        for fault in {str(one) for one in found if isinstance(one, Exception)}:
            log.warning("%s at %s: %s; such responses are None", self.model, self.base_url, fault)
        return [one if isinstance(one, str) else None for one in found]


def run_apart(work: Coroutine[Any, Any, T]) -> T:
    """Return what the coroutine ``work`` does, run in a thread: the caller's may have a loop."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


def _chat_messages(prompt: Prompt) -> list[dict[str, str]]:
    if isinstance(prompt, str):
        return [{"role": "user", "content": str(prompt)}]
    return [{"role": message["role"], "content": message["content"]} for message in prompt]


def _with_thought(found: Any) -> ModelText:
    """Return a completion as the model wrote it; one that was cut in its thoughts has no end."""
    text = str(found.text or found.refusal)
    if found.thought:
        text = f"<think>{found.thought}" + (f"</think>{text}" if text else "")
    return ModelText(text, found.cut, found.prompt_tokens, found.tokens, found.ids, found.logprobs)
