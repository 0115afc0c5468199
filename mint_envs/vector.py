"""The vector form: many environments of one task, scored together.

``gym.make_vec("mint/Math-v0", num_envs=64)`` uses it. Scoring goes through ``Task.score_batch``.
The default is that nothing is reset by itself (``AutoresetMode.DISABLED``, not Gymnasium's
``NEXT_STEP``): a group of responses to one problem is chosen by whoever resets, all environments or
some by ``options={"reset_mask": bool array}``, and an episode of one turn would waste every other
step. ``autoreset_mode=`` chooses another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import (
    batch_space,
    create_shared_memory,
    read_from_shared_memory,
    write_to_shared_memory,
)

from .core import Task
from .env import TokenEnv, step_many
from .errors import SettingError
from .executors import Executor, executor_of
from .spaces import Tokens, TokenSequence
from .tokens import Codec

Batch = tuple[Tokens, ...]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


class TokenVectorEnv(VectorEnv[Batch, Batch, npt.NDArray[Any]]):
    """``num_envs`` environments of one task.

    ``reset(seed=s)`` gives environment i the seed ``s + i``, as Gymnasium does; a GRPO group is
    ``reset(seed=[s] * group)``. Infos are arrays of length ``num_envs`` per key: floats for
    ``score``, booleans for ``scored``, objects (str, dict) for the rest.

    Args:
        task: shared by all environments.
        num_envs: how many.
        tokenizer, render_mode: as for ``TokenEnv``.
        executor: where responses are scored: ``None`` or ``"local"``, ``"processes"``,
            ``"ray"``, or an ``Executor``. Rewards are the same.
        autoreset_mode: an ``AutoresetMode`` or its value. ``"Disabled"``: stepping an ended episode
            is an error. ``"NextStep"``: the step after its end ignores the action, and returns the
            prompt of the next episode with reward 0. ``"SameStep"``: the step that ends it returns
            that prompt, and what it ended with as ``infos["final_obs"]`` and ``["final_info"]``.

    Raises:
        SettingError: ``num_envs`` is below 1, or there is no such executor or mode.
        TokenizerError: the tokenizer cannot be loaded.
    """

    metadata = {
        **TokenEnv.metadata,
        "autoreset_mode": AutoresetMode.DISABLED,
    }

    def __init__(
        self,
        task: Task[Any],
        num_envs: int,
        tokenizer: Any = None,
        render_mode: str | None = None,
        executor: str | Executor | None = None,
        autoreset_mode: str | AutoresetMode = AutoresetMode.DISABLED,
    ) -> None:
        if num_envs < 1:
            raise SettingError(f"num_envs={num_envs} must be at least 1")
        self._autoreset = _mode_of(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self._autoreset}
        self._ended = np.zeros(num_envs, dtype=np.bool_)  # by the last step
        codec = Codec(tokenizer)
        self._executor = executor_of(executor)
        self.num_envs = num_envs
        self.envs = [TokenEnv(task, codec, render_mode) for _ in range(num_envs)]
        for env in self.envs:  # one task, though each was fitted: so they are scored together
            env.task = self.envs[0].task
        self.render_mode = render_mode
        self.single_observation_space = self.envs[0].observation_space
        self.single_action_space = self.envs[0].action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> tuple[Batch, dict[str, Any]]:
        """Begin episodes; return (prompt tokens of each, infos).

        Args:
            seed: one seed (environment i gets ``seed + i``) or one for each environment.
            options: ``"reset_mask"``, a boolean array, resets only those environments (the
                observations of the others are empty); ``"index"`` is a problem number, or one
                for each environment.

        Returns:
            A tuple of ``num_envs`` flat int64 arrays, and infos whose arrays have the shape
            (num_envs,); ``infos["_" + key]`` says who has a value.

        Raises:
            SettingError: an unknown option, or not one value for each environment.
            IndexOutOfRange: the data set has no such problem. Environments before it are reset.
        """
        options = dict(options or {})
        mask = self._mask(options.pop("reset_mask", None))
        index = options.pop("index", None)
        seeds = self._each(seed, "seed", step=1)
        indexes = self._each(index, "index", step=0)
        observations: list[Tokens] = [np.empty(0, dtype=np.int64)] * self.num_envs
        infos: list[dict[str, Any] | None] = [None] * self.num_envs
        for i in np.flatnonzero(mask):
            chosen = {} if indexes[i] is None else {"index": indexes[i]}
            observations[i], infos[i] = self.envs[i].reset(
                seed=seeds[i], options={**options, **chosen}
            )
            self._ended[i] = False
        return tuple(observations), _stack(infos)

    def step(self, actions: Sequence[Any]) -> tuple[Batch, Floats, Bools, Bools, dict[str, Any]]:
        """Step every environment.

        Args:
            actions: ``num_envs`` sequences of token ids.

        Returns:
            observations, a tuple of ``num_envs`` flat int64 arrays (the new tokens alone);
            rewards in [0, 1], terminated and truncated, each of the shape (num_envs,); infos.

        Raises:
            ResetNeeded: an environment's episode is over; reset it first.
            ValueError: an action is not in the action space, or there are not ``num_envs``.
        """
        if len(actions) != self.num_envs:
            raise ValueError(f"got {len(actions)} actions for {self.num_envs} environments")
        again = self._autoreset is AutoresetMode.NEXT_STEP
        new = [i for i in range(self.num_envs) if again and self._ended[i]]
        going = [i for i in range(self.num_envs) if i not in new]
        over = [i for i in going if not self.envs[i].running]
        if over:
            raise ResetNeeded(
                f"No episode is running in environment {over[0]}: call "
                'reset(options={"reset_mask": terminated | truncated}), or reset() for all.'
            )
        stepped = step_many(
            [self.envs[i] for i in going], [actions[i] for i in going], self._executor
        )
        results: dict[int, Any] = dict(zip(going, stepped, strict=True))
        for i in new:
            observation, info = self.envs[i].reset()
            results[i] = (observation, 0.0, False, False, info)
        observations, rewards, terminated, truncated, infos = map(
            list, zip(*(results[i] for i in range(self.num_envs)), strict=True)
        )
        self._ended = np.array(terminated) | np.array(truncated)
        final = self._begin_next(observations, infos)
        return (
            tuple(observations),
            np.array(rewards),
            np.array(terminated),
            np.array(truncated),
            {**_stack(infos), **final},
        )

    def _begin_next(self, observations: list[Any], infos: list[Any]) -> dict[str, Any]:
        """Begin anew in place of what has ended, if the mode says so; return how it ended."""
        if self._autoreset is not AutoresetMode.SAME_STEP or not self._ended.any():
            return {}
        ends = np.full(self.num_envs, None, dtype=object)
        final: list[dict[str, Any] | None] = [None] * self.num_envs
        for i in np.flatnonzero(self._ended):
            ends[i], final[i] = observations[i], infos[i]
            observations[i], infos[i] = self.envs[i].reset()
        who = self._ended.copy()
        self._ended = np.zeros(self.num_envs, dtype=np.bool_)
        return {
            "final_obs": ends,
            "_final_obs": who,
            "final_info": _stack(final),
            "_final_info": who.copy(),
        }

    def render(self) -> tuple[str | None, ...]:  # type: ignore[override]
        """Return the transcript of each environment, in ``"ansi"`` mode."""
        return tuple(env.render() for env in self.envs)

    def _mask(self, mask: Any) -> Bools:
        if mask is None:
            return np.ones(self.num_envs, dtype=np.bool_)
        mask = np.asarray(mask)
        if mask.shape != (self.num_envs,) or mask.dtype != np.bool_:
            raise SettingError(
                f"reset_mask must be a boolean array of shape ({self.num_envs},), "
                f"got dtype {mask.dtype} and shape {mask.shape}"
            )
        return np.array(mask, dtype=np.bool_)

    def _each(self, value: Any, name: str, step: int) -> list[Any]:
        """Spread one value over the environments, or check that there is one for each."""
        if value is None:
            return [None] * self.num_envs
        if isinstance(value, int | np.integer):
            return [int(value) + step * i for i in range(self.num_envs)]
        if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str):
            raise SettingError(f"{name}={value!r} must be a whole number, or one for each")
        if len(value) != self.num_envs:
            raise SettingError(f"{name} has {len(value)} values for {self.num_envs} environments")
        return [int(v) if isinstance(v, np.integer) else v for v in value]


def _mode_of(mode: Any) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        valid = ", ".join(repr(one.value) for one in AutoresetMode)
        raise SettingError(f"autoreset_mode={mode!r}: valid are {valid}") from None


def _stack(infos: Sequence[dict[str, Any] | None]) -> dict[str, Any]:
    """Turn infos into one dict of arrays, with Gymnasium's ``_key`` masks of who has a value."""
    given = [info for info in infos if info is not None]
    present = np.array([info is not None for info in infos])
    stacked: dict[str, Any] = {}
    for key in given[0] if given else ():
        kind = _COLUMNS.get(key)
        column = np.zeros(len(infos), kind) if kind else np.full(len(infos), None)
        column[present] = np.fromiter((info[key] for info in given), kind or object, len(given))
        stacked[key], stacked[f"_{key}"] = column, present.copy()
    return stacked


#: Keys of ``info`` that become arrays of numbers; all others hold objects.
_COLUMNS: dict[str, Any] = {"score": np.float64, "scored": np.bool_}


# -- Gymnasium's own AsyncVectorEnv, with its default of shared memory ---------------------------
# It reads the shared buffer once, when it is made, and copies the result at every step. For
# arrays of a fixed shape that result is a view; for ours it is an object that reads the buffer
# when it is copied.


class _SharedTokens(Sequence[Tokens]):
    """Token sequences in shared memory, read when asked for; a (deep) copy is a tuple of arrays."""

    def __init__(self, buffers: Sequence[Any]) -> None:
        self._buffers = buffers

    def __len__(self) -> int:
        return len(self._buffers)

    def __getitem__(self, i: Any) -> Any:
        array = np.frombuffer(self._buffers[i].get_obj(), dtype=np.int64)
        return array[1 : 1 + int(array[0])].copy()

    def __deepcopy__(self, memo: Any) -> Batch:
        return tuple(self)


#: Tokens an observation may hold in shared memory; untouched pages cost nothing.
_SHARED_LENGTH = 1 << 17


@create_shared_memory.register(TokenSequence)
def _create_shared(space: TokenSequence, n: int = 1, ctx: Any = None) -> tuple[Any, ...]:
    length = min(space.max_length, _SHARED_LENGTH)
    return tuple(ctx.Array("q", 1 + length) for _ in range(n))


@read_from_shared_memory.register(TokenSequence)
def _read_shared(space: TokenSequence, shared_memory: Any, n: int = 1) -> _SharedTokens:
    return _SharedTokens(shared_memory)


@write_to_shared_memory.register(TokenSequence)
def _write_shared(space: TokenSequence, index: int, value: Tokens, shared_memory: Any) -> None:
    target = np.frombuffer(shared_memory[index].get_obj(), dtype=np.int64)
    if len(value) >= len(target):
        raise ValueError(
            f"an observation of {len(value)} tokens does not fit the shared memory of "
            "AsyncVectorEnv: pass vector_kwargs={'shared_memory': False}"
        )
    target[0] = len(value)
    target[1 : 1 + len(value)] = value
