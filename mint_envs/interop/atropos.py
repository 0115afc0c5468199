"""Atropos: a ``BaseEnv`` that hands over tokens, masks and log-probabilities as they were sampled.

    python -m mint_envs.interop.atropos serve --env.mint_env mint/Code-v0 \\
        --env.tokenizer_name Qwen/Qwen3-0.6B --openai.server_type vllm

The inference server must give tokens (vLLM or SGLang). Unmeasured: the sample is left out of its
group, and the group says how many are left.
"""
# No ``from __future__ import annotations``: pydantic must see the types of classes made in here.

import asyncio
from typing import Any

from .shapes import TextTask, TokenEpisode, codec, lazily

_LISTS = ("tokens", "masks", "scores", "inference_logprobs")


class _Env:
    """Items are indexes of problems, one after another."""

    name = "mint"
    config: Any
    server: Any
    tokenizer: Any

    async def setup(self) -> None:
        self._task = TextTask(self.config.mint_env, **self.config.settings)
        self._next = int(self.config.start)

    async def get_next_item(self) -> int:
        number, size = self._next, self._task.task.size
        self._next += 1
        return number if size is None else number % size

    async def evaluate(self, *args: Any, **kwargs: Any) -> None:
        """Held-out problems are another environment's settings: run one with split='test'."""

    async def collect_trajectory(self, item: int) -> tuple[Any, list[Any]]:
        """Play one episode; None instead of it if its reward could not be measured."""
        episode = TokenEpisode(self._task, codec(self.tokenizer))
        logprobs = await self._play(episode, item)
        if episode.score is None:
            return None, []
        masks = [t if on else -100 for t, on in zip(episode.tokens, episode.mask, strict=True)]
        return {
            "tokens": episode.tokens,
            "masks": masks,
            "scores": episode.score,
            "inference_logprobs": logprobs,
        }, []

    async def collect_trajectories(self, item: int) -> tuple[Any, list[Any]]:
        """Play a group; Atropos' own way takes no sample that is None."""
        played = [self.collect_trajectory(item) for _ in range(self.config.group_size)]
        kept = [found for found, _ in await asyncio.gather(*played) if found is not None]
        if len(kept) < 2:
            return None, []
        group: dict[str, Any] = {name: [one[name] for one in kept] for name in _LISTS}
        return {**group, "group_overrides": {"group_size": len(kept)}, "overrides": None}, []

    async def _play(self, episode: TokenEpisode, index: int) -> list[float]:
        """Play to the end; return a log-probability for every token, 1.0 off the mask."""
        logprobs = [1.0] * len(await asyncio.to_thread(episode.begin, index))
        while not episode.done:
            _, acts, given, _ = await self.server.tokens_and_logprobs_completion(
                prompt=episode.decode(episode.tokens),
                input_ids=list(episode.tokens),
                n=1,
                max_tokens=self.config.max_tokens,
                temperature=self.config.temperature,
                stop=episode.stop or None,
            )
            said = await asyncio.to_thread(episode.step, acts[0])
            logprobs += [*given[0], *[1.0] * len(said)]
        return logprobs


def _env_classes() -> list[type]:
    from atroposlib.envs.base import BaseEnv, BaseEnvConfig

    class MintConfig(BaseEnvConfig):
        """``mint_env`` and its ``settings``; problems from number ``start`` on."""

        mint_env: str = "mint/Math-v0"
        settings: dict[str, Any] = {}
        start: int = 0
        max_tokens: int = 512
        temperature: float = 1.0

    made = {"env_config_cls": MintConfig, "__doc__": _Env.__doc__}
    return [MintConfig, type("MintEnv", (_Env, BaseEnv), made)]


_find = lazily(globals(), _env_classes, "MintConfig", "MintEnv")


def __getattr__(name: str) -> Any:
    return _find(name)


if __name__ == "__main__":
    import importlib

    # Not the class of ``__main__``: its module must be found again by its name.
    importlib.import_module("mint_envs.interop.atropos").MintEnv.cli()
