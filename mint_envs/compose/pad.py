"""``PadTokens``: arrays of one size, for loops that know only those."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import gymnasium as gym
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from ..errors import require
from .wrapper import token_env

Padded = dict[str, npt.NDArray[Any]]


class PadTokens(gym.Wrapper[Any, Any, Any, Any], gym.utils.RecordConstructorArgs):
    """Observations and actions of a fixed size, as Stable-Baselines3, TorchRL and RLlib want them.

    An observation is ``{"tokens": int64 (n,), "mask": int8 (n,)}``: the *whole* context so far
    (prompt, responses, answers), its last ``n`` tokens, with 0 behind it; the mask is 1 where there
    is a token. An action is ``response`` token ids (``MultiDiscrete``): the response goes up to and
    with the first token that ends a turn, and is cut off if there is none.

    Args:
        env: an environment of this package, wrapped or not; put this outermost.
        n: tokens of an observation.
        response: tokens of an action; None: as many as ``n``.

    Raises:
        SettingError: ``n`` or ``response`` is below 1.
    """

    def __init__(self, env: gym.Env[Any, Any], n: int, response: int | None = None) -> None:
        gym.utils.RecordConstructorArgs.__init__(self, n=n, response=response)
        gym.Wrapper.__init__(self, env)
        self._codec = token_env(env).codec
        length = n if response is None else response
        for name, value in (("n", n), ("response", length)):
            right = isinstance(value, Integral) and value >= 1
            require(right, f"{name}={value!r} must be a whole number, 1 or more")
        self._n, vocabulary = n, self._codec.vocab_size
        self.observation_space = spaces.Dict(
            {
                "tokens": spaces.Box(0, vocabulary - 1, (n,), np.int64),
                "mask": spaces.Box(0, 1, (n,), np.int8),
            }
        )
        self.action_space = spaces.MultiDiscrete(np.full(length, vocabulary, dtype=np.int64))
        self._context: list[int] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Padded, dict[str, Any]]:
        """Begin an episode; return (padded prompt, info)."""
        tokens, info = self.env.reset(seed=seed, options=options)
        self._context = tokens.tolist()
        return self._padded(), info

    def step(self, action: Any) -> tuple[Padded, float, bool, bool, dict[str, Any]]:
        """Take one response; return (padded context, reward, terminated, truncated, info).

        Raises:
            ValueError: ``action`` is not in the action space.
        """
        if not self.action_space.contains(np.asarray(action)):
            raise ValueError(f"The action is not of {self.action_space}: got {action!r:.80}")
        response = self._response(np.asarray(action).tolist())
        tokens, reward, terminated, truncated, info = self.env.step(response)
        self._context += [*response, *tokens.tolist()]
        return self._padded(), float(reward), terminated, truncated, info

    def _response(self, ids: list[int]) -> list[int]:
        ends = (place for place, token in enumerate(ids) if token in self._codec.stop_tokens)
        return ids[: next(ends, len(ids)) + 1]

    def _padded(self) -> Padded:
        kept = self._context[-self._n :]
        tokens = np.zeros(self._n, dtype=np.int64)
        mask = np.zeros(self._n, dtype=np.int8)
        tokens[: len(kept)], mask[: len(kept)] = kept, 1
        return {"tokens": tokens, "mask": mask}
