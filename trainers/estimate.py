"""``mint-grpo ENV --estimate``: what a step will cost, before anything is trained.

A few episodes are played, by which it is known how long prompts and responses are and how long the
environment takes. The rest is ``local/cost.py``: some timed passes of the model.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mint_envs.problems import ProblemRef

from .backends import SamplingParams
from .config import SftConfig, TrainConfig
from .data import Data, open_data
from .errors import TrainerError
from .rollout import Episode, check_room, playing
from .stream import sampling

#: Problems that are asked once, and tokens that a response may have there.
_ASKED = 8
_TOKENS = 64
#: What a pass without a gradient takes of an update.
_FORWARD = 0.4


def check(config: TrainConfig | SftConfig) -> TrainConfig:
    """Return the settings, if what they cost can be told here.

    Raises:
        TrainerError: it cannot.
    """
    if isinstance(config, SftConfig):
        raise TrainerError("--estimate is for RL: mint-grpo ENV --estimate")
    if config.backend != "local":
        raise TrainerError(
            f"--estimate times the model on this machine, and the {config.backend} backend has "
            "none here. Give --backend local to see what it costs here"
        )
    return config


def tell(config: TrainConfig, backend: Any) -> Iterator[str]:
    """Yield lines that say what a step costs."""
    from .backends.local.cost import cost_of

    with open_data(config, backend) as data:
        refs = data.problems(1)
        played = _play(config, backend, data, refs[:_ASKED])
        prompts = _prompts(config, backend, data, refs)
    episodes, turns = played.episodes, [len(episode.acts) for episode in played.episodes]
    # One that was cut by our own bound may become as long as is allowed.
    cut = [episode.cut and config.max_tokens > _TOKENS for episode in episodes]
    most = max(1, backend.max_context - max(map(len, prompts)))
    lengths = [
        min(config.max_tokens * len(episode.acts), most) if is_cut else episode.length
        for episode, is_cut in zip(episodes, cut, strict=True)
    ]
    again = float(np.mean([sum(start for start, _ in e.acts[1:]) for e in episodes]))
    cost = cost_of(backend, prompts, config.group, lengths, again)
    scored_s = played.environment_s / len(episodes) * len(prompts) * config.group
    passes = 1 + _FORWARD * bool(config.kl_penalty_coef)
    update_s = cost.update_s * passes
    total = cost.read_s + cost.draw_s + scored_s + update_s
    yield f"Model: {backend.model}, {str(backend.dtype).removeprefix('torch.')}, {backend.device}"
    yield (
        f"A step: {len(prompts)} problems x {config.group} responses; prompts of "
        f"{np.mean([len(p) for p in prompts]):.0f} tokens, responses of {np.mean(lengths):.0f} "
        f"({len(episodes)} drawn"
        + (f", {sum(cut)} not ended after {_TOKENS}: counted as {config.max_tokens}" * any(cut))
        + (f", {np.mean(turns):.1f} turns" * (max(turns) > 1))
        + ")"
    )
    yield f"{'':14}{'seconds':>9}{'tokens':>10}"
    rows: Sequence[tuple[str, float, str]] = (
        ("read prompts", cost.read_s, f"{sum(map(len, prompts)):,}"),
        ("draw", cost.draw_s, f"{cost.drawn:,}"),
        ("environment", scored_s, ""),
        ("update", update_s, f"{cost.learned:,}"),
        ("a step", total, ""),
    )
    for name, seconds, tokens in rows:
        yield f"{name:14}{seconds:9.2f}{tokens:>10}"
    yield f"Memory: {cost.memory_mb / 1024:.1f} GB, more where one response is far longer than most"
    yield f"{config.steps} steps: {_duration(total * config.steps)}, beside evaluations."
    yield "Counted as if every group taught something; groups that do not are left out of updates."


@dataclass(frozen=True)
class _Played:
    episodes: list[Episode]
    environment_s: float


def _play(config: TrainConfig, backend: Any, data: Data, refs: Sequence[ProblemRef]) -> _Played:
    """Play one episode of each problem; responses are short there."""
    params = sampling(config, data.pool, 1)
    params = replace(params, max_tokens=min(config.max_tokens, _TOKENS))
    game = playing(data.pool, backend, refs, 1, params, None, config.max_turns)
    samples, environment_s = None, 0.0
    while True:
        start = time.perf_counter()
        try:
            ask = game.send(samples)  # type: ignore[arg-type]  # the first is None
        except StopIteration as end:
            groups = end.value
            break
        environment_s += time.perf_counter() - start
        samples = backend.sample(*ask)
    environment_s += time.perf_counter() - start
    check_room(backend, params, groups)
    episodes = [episode for (episode,) in groups if episode.acts]
    if not episodes:
        raise TrainerError("no episode could be played: see what is said above")
    return _Played(episodes, environment_s)


def _prompts(
    config: TrainConfig, backend: Any, data: Data, refs: Sequence[ProblemRef]
) -> list[tuple[int, ...]]:
    """Return the prompts of a step, as tokens."""
    room = SamplingParams(config.max_tokens)
    game = playing(data.pool, backend, refs, 1, room, None, config.max_turns)
    try:
        requests, _ = next(game)
    except StopIteration as end:
        check_room(backend, room, end.value)
        raise TrainerError("no problem could be asked: see what is said above") from None
    finally:
        game.close()
    return [request.context for request in requests for _ in range(request.n)]


def _duration(seconds: float) -> str:
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} seconds"
