"""The stream of groups: problems in order, drawn at most some steps ahead of the loop.

Every group is stamped with the number of steps that the weights had learned when it was begun.
``take`` gives the groups of a step, the oldest first. On-policy all of them are drawn there, by
the weights as they are, in one batch.

With ``max_steps_off_policy`` as many steps more are under way. On a backend that samples beside its
updates (it says ``overlaps``) each group is played by itself: its requests wait in a thread, and
its environments are stepped here, in the main thread, while the loop waits for groups or for an
update. So a long response keeps no other waiting, until it would become too old: that one is
waited for, since whoever drops what is slow learns to be short. Any other backend draws a batch at
a time, and is ahead all the same.

``place`` says which problems are done with. What was drawn and not learned from when a run ended is
drawn again on resume; nothing is left out, and nothing is used twice.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, TypeVar

from mint_envs.problems import ProblemRef

from .backends import Backend, SamplingParams
from .config import TrainConfig
from .data import Data
from .errors import TrainerError
from .later import later
from .pool import EnvPool
from .rollout import Ask, Episode, Samples, check_room, collect, playing
from .run import Run
from .teaching import teaches

T = TypeVar("T")


@dataclass(frozen=True)
class Group:
    """The episodes of one problem; ``number`` is its place in the stream."""

    number: int
    weights: int
    episodes: list[Episode]


@dataclass(frozen=True)
class Batch:
    """The groups of a step, and what is to be said of them."""

    groups_P: list[list[Episode]]
    counts: dict[str, float]


@dataclass(frozen=True)
class _Game:
    """A group that is being played; ``place`` is its place among those that are."""

    number: int
    weights: int
    place: int
    moves: Generator[Ask, Samples, list[list[Episode]]]


class Stream:
    """See the module's text. ``take`` and ``meanwhile`` are for the main thread.

    Args:
        config: the settings.
        backend: samples.
        data: chooses problems.
        run: is told how many episodes run, and knows which problems were done with.
    """

    def __init__(self, config: TrainConfig, backend: Backend, data: Data, run: Run) -> None:
        self._config, self._backend, self._pool = config, backend, data.pool
        self._show = run.show_rollout
        self._ahead = config.max_steps_off_policy
        self._overlaps = bool(self._ahead and backend.overlaps)
        self._problems: Callable[[int], list[ProblemRef]] = lru_cache(4)(data.problems)
        self._done = _Done(run.kept.get("place"), (run.next_step - 1) * config.batch)
        self._numbers = self._done.others()
        self._step = run.next_step
        self._ready: list[Group] = []
        self._games: dict[Future[Samples], _Game] = {}
        self._places = list(range((self._ahead + 1) * config.batch))

    @property
    def place(self) -> dict[str, Any]:
        """Which problems are done with: all below a number, and some beyond."""
        return {"below": self._done.below, "beyond": sorted(self._done.beyond)}

    def take(self, step: int) -> Batch:
        """Return the groups of ``step``; the weights have learned ``step - 1`` steps.

        Raises:
            TrainerError: as ``collect``; the backend failed.
        """
        if self._overlaps:  # asked for nothing it takes up the new weights, beside what is drawn
            self.meanwhile(lambda: self._backend.sample([], sampling(self._config, self._pool, 0)))
        self._step = step
        groups: list[Group] = []
        while missing := self._missing(groups):
            self._draw(missing)
            self._ready.sort(key=lambda group: (group.weights, group.number))
            groups += self._ready[:missing]
            del self._ready[:missing]
        self._done.add(group.number for group in groups)
        drawn = [group.episodes for group in groups]
        check_room(self._backend, self._params(0), drawn)
        ages = [step - 1 - group.weights for group in groups]
        return Batch(
            drawn,
            {
                "staleness": sum(ages) / len(ages),
                "staleness_max": max(ages),
                "refilled_groups": max(0, len(groups) - self._config.batch),
            },
        )

    def meanwhile(self, call: Callable[[], T]) -> T:
        """Return ``call()``; what can be drawn beside it is."""
        if not self._overlaps:
            return call()
        working = later(call, "update")
        try:
            while not working.done():
                self._begin(self._ahead_of(0))
                self._listen(working)
        except BaseException:
            wait([working])  # the weights are to be whole before anyone acts on this
            raise
        return working.result()

    def close(self) -> None:
        """Let go of what is being drawn."""
        for game in self._games.values():
            game.moves.close()
        self._games.clear()

    # -- how many -----------------------------------------------------------------------------

    def _missing(self, groups: Sequence[Group]) -> int:
        """Return how many groups a step wants beside these."""
        config = self._config
        if not config.refill:
            return config.batch - len(groups)
        useful = sum(teaches(config, group.episodes) for group in groups)
        return min(config.batch - useful, config.batch * (1 + config.refill) - len(groups))

    def _ahead_of(self, missing: int) -> int:
        """Return how many groups are to be under way or ready, beside what a step still wants."""
        return missing + self._config.batch * min(self._ahead, self._config.steps - self._step)

    def _age(self, drawn: Group | _Game) -> int:
        return self._step - 1 - drawn.weights

    # -- drawing ------------------------------------------------------------------------------

    def _draw(self, missing: int) -> None:
        """Have at least ``missing`` groups ready, and of the old ones as many as are due."""
        wanted = self._ahead_of(missing)
        if not self._overlaps:
            while (room := wanted - len(self._ready)) > 0:
                self._draw_now([next(self._numbers) for _ in range(min(room, self._config.batch))])
            return
        self._begin(wanted)
        while len(self._ready) < missing or self._old_are_late():
            self._listen()

    def _old_are_late(self) -> bool:
        """Tell whether too many old groups are under way: some would be too old when learned from.

        In k more steps k batches are taken, so of those that can wait for no longer, all but that
        many are due now: none is overtaken until it is too old.
        """
        ready = [self._age(group) for group in self._ready]
        ages = [*ready, *map(self._age, self._games.values())]
        for steps_left in range(self._ahead + 1):
            oldest = self._ahead - steps_left
            due = sum(age >= oldest for age in ages) - steps_left * self._config.batch
            if sum(age >= oldest for age in ready) < due:
                return True
        return False

    def _draw_now(self, numbers: Sequence[int]) -> None:
        """Draw these groups in one batch."""
        config, params = self._config, self._params(numbers[0])
        refs = [self._problem(number) for number in numbers]
        pool, many, turns = self._pool, config.group, config.max_turns
        drawn = collect(pool, self._backend, refs, many, params, self._show, turns)
        for number, episodes in zip(numbers, drawn, strict=True):
            self._take_in(number, self._step - 1, episodes)

    def _begin(self, wanted: int) -> None:
        """Begin groups until so many are under way or ready."""
        config = self._config
        while len(self._games) + len(self._ready) < wanted and self._places:
            number, place = next(self._numbers), self._places.pop(0)
            moves = playing(
                self._pool, self._backend, [self._problem(number)], config.group,
                self._params(number), None, config.max_turns,
                seat=1 + place * config.group,  # the first is for looking at problems
            )  # fmt: skip
            self._go_on(_Game(number, self._step - 1, place, moves), None)

    def _listen(self, *others: Future[Any]) -> None:
        """Wait until something has come, or one of ``others``; let its game go on."""
        self._show(len(self._games) * self._config.group)
        done, _ = wait([*self._games, *others], return_when=FIRST_COMPLETED)
        for future in done.difference(others):
            self._go_on(self._games.pop(future), future.result())

    def _go_on(self, game: _Game, samples: Samples | None) -> None:
        try:
            ask = game.moves.send(samples)  # type: ignore[arg-type]  # the first is None
        except StopIteration as end:
            self._places.append(game.place)
            (episodes,) = end.value
            self._take_in(game.number, game.weights, episodes)
        else:
            self._games[later(partial(self._backend.sample, *ask), "sampling")] = game

    def _take_in(self, number: int, weights: int, episodes: list[Episode]) -> None:
        for episode in episodes:
            episode.weights = weights
        self._ready.append(Group(number, weights, episodes))

    def _problem(self, number: int) -> ProblemRef:
        step, place = divmod(number, self._config.batch)
        return self._problems(step + 1)[place]

    def _params(self, number: int) -> SamplingParams:
        """Return how a batch is sampled that begins with this group; no two are alike."""
        step, place = divmod(number, self._config.batch)
        params = sampling(self._config, self._pool, step + 1)
        return replace(params, seed=params.seed + (place << 43))


class _Done:
    """A set of numbers: all below one, and some beyond."""

    def __init__(self, place: Any, below: int) -> None:
        try:
            place = {"below": below, "beyond": []} if place is None else place
            self.below, self.beyond = int(place["below"]), {int(n) for n in place["beyond"]}
        except (TypeError, ValueError, LookupError) as error:
            raise TrainerError(
                f'"place" in state.json does not say which problems are done: {place!r}. Take it '
                "out, to go on by the number of the step"
            ) from error

    def add(self, numbers: Iterable[int]) -> None:
        self.beyond.update(numbers)
        while self.below in self.beyond:
            self.beyond.remove(self.below)
            self.below += 1

    def others(self) -> Iterator[int]:
        """Yield the numbers that are not done now, without end."""
        below, beyond = self.below, set(self.beyond)
        while True:
            if below not in beyond:
                yield below
            below += 1


def sampling(config: TrainConfig, pool: EnvPool, step: int) -> SamplingParams:
    """Return how the responses of a step are sampled."""
    return SamplingParams(
        config.max_tokens,
        config.temperature,
        pool.stop,
        pool.stop_tokens,
        seed=config.seed * 1_000_003 + step,
    )
