"""Environments, one for every fault that the conformance kit must catch."""

from __future__ import annotations

import random
import time
from typing import Any

import numpy as np

from mint_envs import TokenEnv


class WrongTruncated(TokenEnv):
    def step(self, action: Any) -> Any:
        obs, reward, _, _, info = super().step(action)
        return obs, reward, False, True, info


class BothFlags(TokenEnv):
    def step(self, action: Any) -> Any:
        obs, reward, _, _, info = super().step(action)
        return obs, reward, True, info["finish_reason"] == "length", info


class NumpyFlags(TokenEnv):
    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = super().step(action)
        return obs, reward, np.bool_(terminated), truncated, info


class StepsOn(TokenEnv):
    def step(self, action: Any) -> Any:
        episode = self._episode or self.task.start(self._problem)
        self._episode = episode
        return super().step(action)


class SharedInfo(TokenEnv):
    _one: dict[str, Any] = {}

    def _info(self, *args: Any) -> dict[str, Any]:
        self._one.update(super()._info(*args))
        return self._one


class InfoKeyLate(TokenEnv):
    def reset(self, **kwargs: Any) -> Any:
        obs, info = super().reset(**kwargs)
        del info["response"]
        return obs, info


class InfoNone(TokenEnv):
    def reset(self, **kwargs: Any) -> Any:
        obs, info = super().reset(**kwargs)
        return obs, info | {"finish_reason": None}


class ClockInInfo(TokenEnv):
    def step(self, action: Any) -> Any:
        *rest, info = super().step(action)
        return (*rest, info | {"metadata": {"seconds": time.perf_counter()}})


class DoubleReward(TokenEnv):
    def step(self, action: Any) -> Any:
        obs, reward, *rest = super().step(action)
        return obs, 2.0 * reward, *rest


class InfiniteReward(TokenEnv):
    def step(self, action: Any) -> Any:
        obs, _, *rest = super().step(action)
        return obs, float("inf"), *rest


class WrapsActions(TokenEnv):
    """Takes any number for a token."""

    def step(self, action: Any) -> Any:
        try:
            ids = [int(t) % self.codec.vocab_size for t in action]
        except TypeError:
            ids = []
        return super().step(ids)


class IgnoresSeed(TokenEnv):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return super().reset(options=options)


class SeedsByClock(TokenEnv):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return super().reset(seed=time.perf_counter_ns() % 2**31, options=options)


class IgnoresIndex(TokenEnv):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return super().reset(seed=seed)


class TouchesGlobals(TokenEnv):
    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        random.seed(seed)
        return super().reset(seed=seed, options=options)


class WholeContext(TokenEnv):
    """Gives the whole conversation back, instead of the new tokens."""

    def reset(self, **kwargs: Any) -> Any:
        obs, info = super().reset(**kwargs)
        self._context = obs.tolist()
        return obs, info

    def step(self, action: Any) -> Any:
        obs, *rest = super().step(action)
        self._context += [*np.asarray(action).tolist(), *obs.tolist()]
        return np.array(self._context, dtype=np.int64), *rest


class ListObservation(TokenEnv):
    def step(self, action: Any) -> Any:
        obs, *rest = super().step(action)
        return obs.tolist(), *rest


class RaisesOnTokens(TokenEnv):
    def step(self, action: Any) -> Any:
        bytes(int(t) for t in action)  # special tokens are no bytes
        return super().step(action)


class ReusesBuffer(TokenEnv):
    _buffer = np.zeros(4096, dtype=np.int64)

    def reset(self, **kwargs: Any) -> Any:
        obs, info = super().reset(**kwargs)
        self._buffer[: len(obs)] = obs
        return self._buffer[: len(obs)], info
