"""``TextIO``: text in and text out, for those who have no tokens at hand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import gymnasium as gym

from ..env import TokenEnv
from .wrapper import token_env


class TextSpace(gym.Space[str]):
    """All strings. (Gymnasium's ``Text`` knows a fixed set of characters, and none is empty.)

    ``sample()`` draws up to 32 characters, printable ASCII for the most part.
    """

    def __init__(self, seed: int | None = None) -> None:
        super().__init__(shape=None, dtype=None, seed=seed)

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Draw a text; masks are not supported."""
        codes = self.np_random.integers(32, 127, int(self.np_random.integers(0, 33)))
        return "".join(chr(code) for code in codes)

    def contains(self, x: Any) -> bool:
        return isinstance(x, str)

    @property
    def is_np_flattenable(self) -> bool:
        """False: a text has no fixed size."""
        return False

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, TextSpace)

    def __hash__(self) -> int:
        return hash(TextSpace)

    def __repr__(self) -> str:
        return "TextSpace()"

    def to_jsonable(self, sample_n: Iterable[str]) -> list[str]:
        return list(sample_n)

    def from_jsonable(self, sample_n: list[Any]) -> list[str]:
        return [str(text) for text in sample_n]


class TextIO(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """Observations and actions as text. Put it outermost.

    Contexts are append-only here too: the first observation is the prompt as the model sees it,
    with its chat framing, and each later one only the text to append after the response.

    An action is one whole response: the end-of-turn token is put after it.
    """

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        gym.utils.RecordConstructorArgs.__init__(self)
        gym.Wrapper.__init__(self, env)
        token_env(env)  # raises if there is none
        self.observation_space = TextSpace()
        self.action_space = TextSpace()

    @property
    def _core(self) -> TokenEnv:
        return token_env(self)  # not kept: another wrapper may put a copy in its place

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Return (the prompt, info)."""
        tokens, info = self.env.reset(seed=seed, options=options)
        return self._core.codec.decode(tokens.tolist()), info

    def step(self, action: str) -> tuple[str, Any, bool, bool, dict[str, Any]]:
        """Take one response; return (text to append, reward, terminated, truncated, info).

        Raises:
            ValueError: ``action`` is no string.
        """
        if not isinstance(action, str):
            raise ValueError(f"The action {action!r} is no string. Give the response as text.")
        codec = self._core.codec
        stop = [] if codec.eos_token_id is None else [codec.eos_token_id]
        result = self.env.step([*codec.encode_response(action), *stop])
        tokens, reward, terminated, truncated, info = result
        # In a chat the end of the turn is part of the context, and not of the response.
        close = stop if len(tokens) and self._core.chat else []
        return codec.decode([*close, *tokens.tolist()]), reward, terminated, truncated, info
