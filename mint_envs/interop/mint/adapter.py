"""``RLAdapter``, and what its methods are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...core import Message, Reward
from ...errors import SettingError, require
from ...tokenizers import ByteTokenizer, Tokenizer
from ...tokens import Codec


class ModelInput:
    """Tokens as an adapter is given them: ``to_ints()`` and ``length``, as in MinT's SDK."""

    def __init__(self, ids: Sequence[int]) -> None:
        self._ids = [int(i) for i in ids]

    @classmethod
    def from_ints(cls, tokens: Sequence[int]) -> ModelInput:
        """Return the input of these token ids."""
        return cls(tokens)

    def to_ints(self) -> list[int]:
        """Return the token ids."""
        return list(self._ids)

    @property
    def length(self) -> int:
        """The number of tokens."""
        return len(self._ids)


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What is known of the model that is trained, from its tokenizer."""

    name: str
    family: str
    vocab_size: int
    eos_token_id: int | None


class RLAdapter:
    """Base class of adapters, with the methods of MinT's documents. Two forms:

    - ``build_dataset``, ``make_prompt`` and ``compute_reward`` (and ``evaluate``, to print);
    - ``__call__(prompt, response) -> Reward`` on tokens; the prompts come from ``build_dataset``,
      or from ``from_adapter(adapter, prompts=[...])``.

    ``examples(sample)``, which the documents do not have, may return ``{response: reward}``, the
    full mark first: with it the conformance kit sees whether a problem can be solved at all.

    Args:
        tokenizer: the model's; None: bytes.
    """

    # Here too, for subclasses that do not call our __init__.
    _tokenizer: Any = None
    _made: Codec | None = None

    def __init__(self, tokenizer: Any = None) -> None:
        self._tokenizer = tokenizer

    def get_tokenizer(self) -> Tokenizer:
        """Return the tokenizer that was given, else the byte tokenizer."""
        if self._tokenizer is None:
            self._tokenizer = ByteTokenizer()
        tokenizer: Tokenizer = self._tokenizer
        return tokenizer

    def get_model_info(self) -> ModelInfo:
        """Return the model's name and family, and the size of its vocabulary."""
        tokenizer = self.get_tokenizer()
        name = str(getattr(tokenizer, "name_or_path", "") or type(tokenizer).__name__)
        family = name.replace("\\", "/").rstrip("/").rpartition("/")[2].partition("-")[0]
        return ModelInfo(name, family, int(tokenizer.vocab_size), tokenizer.eos_token_id)

    def build_dataset(self) -> list[Any]:
        """Return the samples of a step.

        Raises:
            SettingError: the adapter has none.
        """
        name = name_of(self)
        raise SettingError(
            f"{name} has no build_dataset(): write it, or give from_adapter({name}(), "
            "prompts=[...])"
        )

    def make_prompt(self, sample: Any, tokenizer: Any) -> Any:
        """Return the prompt of a sample as token ids (also good: text, or chat messages).

        The default takes the sample as the prompt.
        """
        return sample

    def compute_reward(self, response: str, sample: Any) -> Any:
        """Return the reward of a response: a number, a ``Reward``, or None if unmeasured.

        The default calls the adapter on the tokens of prompt and response.
        """
        if type(self).__call__ is RLAdapter.__call__:
            raise SettingError(
                f"{name_of(self)} gives no reward: define compute_reward(response, sample), "
                "or __call__(prompt, response)"
            )
        if self._made is None or self._made.tokenizer is not self.get_tokenizer():
            self._made = Codec(self.get_tokenizer())
        codec = self._made
        prompt = prompt_ids(self, sample, codec)
        return self(ModelInput(prompt), ModelInput(codec.encode_response(response)))

    def __call__(self, prompt: Any, response: Any) -> Reward:
        """Return the reward of a response, both as ``ModelInput``."""
        raise SettingError(f"{name_of(self)} does not define __call__(prompt, response)")

    def evaluate(self, step: int, rewards: list[float], num_datums: int) -> None:
        """Print what a step came to; called by the loop after each."""
        accuracy = sum(reward > 0 for reward in rewards) / len(rewards) if rewards else 0.0
        print(f"Step {step}: accuracy={accuracy:.1%}, datums={num_datums}")

    def examples(self, sample: Any) -> Mapping[str, float]:
        """Return worked examples of a sample, one that earns 1 first; none by default."""
        return {}


def name_of(adapter: Any) -> str:
    """Return an adapter's name in messages."""
    return type(getattr(adapter, "_adapter", adapter)).__name__


class Adopted(RLAdapter):
    """An adapter whose class is not ours: what it has is asked of it, the rest is as in ours."""

    def __init__(self, adapter: Any) -> None:
        own = getattr(adapter, "get_tokenizer", None)  # its tokens are what it will decode
        super().__init__(own() if callable(own) else getattr(adapter, "_tokenizer", None))
        self._adapter = adapter
        good = callable(adapter) or callable(getattr(adapter, "compute_reward", None))
        if isinstance(adapter, type) or not good:
            raise SettingError(
                f"adapter={adapter!r} is no adapter: give an object with build_dataset, "
                "make_prompt and compute_reward, or with __call__(prompt, response)"
            )

    def _ask(self, method: str, *arguments: Any) -> Any:
        own = getattr(self._adapter, method, None)
        return own(*arguments) if own else getattr(super(), method)(*arguments)

    def build_dataset(self) -> Any:
        return self._ask("build_dataset")

    def make_prompt(self, sample: Any, tokenizer: Any) -> Any:
        return self._ask("make_prompt", sample, tokenizer)

    def compute_reward(self, response: str, sample: Any) -> Any:
        return self._ask("compute_reward", response, sample)

    def __call__(self, prompt: Any, response: Any) -> Any:
        return self._adapter(prompt, response)

    def evaluate(self, step: int, rewards: list[float], num_datums: int) -> None:
        self._ask("evaluate", step, rewards, num_datums)

    def examples(self, sample: Any) -> Mapping[str, float]:
        own = getattr(self._adapter, "examples", None)
        return dict(own(sample)) if callable(own) else {}


class _Documented:
    """A tokenizer as the documents use it: ``apply_chat_template(tokenize=True)`` gives ids.

    (Since its version 5, transformers returns a mapping from it.)
    """

    def __init__(self, tokenizer: Any) -> None:
        self._inner = tokenizer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __len__(self) -> int:
        return len(self._inner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._inner(*args, **kwargs)

    @property
    def apply_chat_template(self) -> Callable[..., Any]:
        inner = self._inner.apply_chat_template  # AttributeError where there is none

        def apply(messages: Any, tokenize: bool = True, **options: Any) -> Any:
            made = inner(messages, tokenize=tokenize, **options)
            return list(made["input_ids"]) if hasattr(made, "input_ids") else made

        return apply


def prompt_ids_for(adapter: Any, sample: Any, tokenizer: Any) -> list[int]:
    """Return the prompt of a sample as the ids of a tokenizer, given as for ``TokenEnv``."""
    return prompt_ids(adapter, sample, Codec(tokenizer))


def prompt_ids(adapter: Any, sample: Any, codec: Codec) -> list[int]:
    """Return the prompt of a sample as ids, whatever form the adapter gives it in."""
    made = adapter.make_prompt(sample, _Documented(codec.tokenizer))
    if hasattr(made, "to_ints"):
        made = made.to_ints()
    if isinstance(made, str):
        return codec.encode_prompt(made)
    try:
        items = list(made)
    except TypeError:
        items = []
    if items and all(map(_is_message, items)):
        return codec.encode_prompt([Message(role=m["role"], content=m["content"]) for m in items])
    require(
        bool(items),
        f"{name_of(adapter)}.make_prompt() returns {made!r}: return token ids, text or "
        "chat messages, and at least one token",
    )
    return codec.checked(items)


def _is_message(item: Any) -> bool:
    return isinstance(item, Mapping) and all(
        isinstance(item.get(key), str) for key in ("role", "content")
    )
