"""Ask, score and write down: many requests at a time, one writer, and a file that goes on.

A *block* is what is asked at once: one response where a policy takes many requests at a time, some
problems where it takes a batch. What is asked of a block hangs on its place alone, so that a run
that was ended goes on to the very result of one that was not, where the policy keeps to seeds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from .. import __version__
from ..core import Reward, Task
from ..errors import DatasetError, SettingError, require
from ..jsonl import Appended, cut_torn, read_rows
from ..policies import Policy, Texts
from ..problems import as_text
from .game import Game, estimated_tokens, spent_tokens
from .plan import Chosen, EvalPlan, choose
from .refused import refused_form
from .result import EvalOutcome, Evaluation

Tell = Callable[[str, int, int], None]

#: Problems that a policy gets at once that does not say how many requests it takes.
_BATCH = 16


def evaluate(
    plan: EvalPlan,
    policy: Policy,
    name: str,
    out: Path,
    max_tokens_total: int | None = None,
    tell: Tell | None = None,
    chosen: Chosen | None = None,
) -> Evaluation:
    """Ask ``policy`` the problems of ``plan``, and append a line for each response to ``out``.

    Args:
        plan: what is asked.
        policy: who answers. One with an attribute ``concurrency`` is asked so many things at once;
            one with a ``codec`` is played token by token.
        name: what the policy is called; part of what tells one evaluation from another.
        out: a JSONL file, which ``show``, ``replay`` and ``bench --responses`` read too. Lines of
            an earlier run of the same plan and name are kept, and not asked for again.
        max_tokens_total: most tokens of prompts and responses together; None: no limit. What is
            asked is only asked if its longest answer keeps to it; tokens that a policy does not
            count are taken as the most that they can be.
        tell: is told what is done, how much, and of how much.
        chosen: what ``choose(plan)`` found, where it was asked before.

    Returns:
        The result of all lines. A response that could not be had has no line, is counted as
        ``lost``, and is asked for again the next time.

    Raises:
        SettingError: the environment or a value is refused.
        DatasetError: ``out`` cannot be written, or belongs to another evaluation.
    """
    require(
        max_tokens_total is None or max_tokens_total >= 1,
        f"max_tokens_total={max_tokens_total} must be 1 or more",
    )
    chosen = choose(plan) if chosen is None else chosen
    task = chosen.task.fitted(style) if (style := getattr(policy, "style", None)) else chosen.task
    with Appended(out) as file:
        found = _earlier(out, plan, chosen, plan.digest(name))
        run = _Run(plan, chosen, task, policy, name, max_tokens_total, found, file, tell)
        run.play()
    return Evaluation(
        plan, name, chosen.held_out, len(chosen.refs), tuple(run.sorted_outcomes()),
        lost=run.lost, stopped=run.stopped, seconds=run.seconds,
        problem_ids=dict(run.problem_ids), refs=chosen.refs,
    )  # fmt: skip


@dataclass
class _EarlierLines:
    """What a file holds: outcomes by (problem, sample)."""

    outcomes: dict[tuple[int, int], EvalOutcome] = field(default_factory=dict)
    problem_ids: dict[int, str] = field(default_factory=dict)


def _earlier(out: Path, plan: EvalPlan, chosen: Chosen, digest: str) -> _EarlierLines:
    cut_torn(out)
    found = _EarlierLines()
    for line, row in read_rows(out):
        if row.get("plan") != digest:
            raise DatasetError(
                f"line {line} of {str(out)!r} belongs to another evaluation (of another model, "
                "environment, setting or seed): name another output"
            )
        one = EvalOutcome.from_row(row)
        found.outcomes[one.problem, one.sample] = one
        found.problem_ids[one.problem] = str(row["problem_id"])
    return found


@dataclass
class _Block:
    """Problems that are asked about together; ``turn`` is that of the games which go on."""

    place: int
    games: list[tuple[int, Game]]  # position of the problem, and its game
    turn: int = 0
    reserved: int = 0
    began: float = 0.0

    @property
    def going_on(self) -> list[Game]:
        return [game for _, game in self.games if not game.over]


class _Run:
    def __init__(
        self, plan: EvalPlan, chosen: Chosen, task: Task[Any], policy: Policy, name: str,
        limit: int | None, found: _EarlierLines, file: Appended, tell: Tell | None,
    ) -> None:  # fmt: skip
        self._plan, self._chosen, self._task, self._policy = plan, chosen, task, policy
        self._limit, self._file, self._tell = limit, file, tell
        self._outcomes, self.problem_ids = found.outcomes, found.problem_ids
        self._head = {
            "plan": plan.digest(name), "policy": name, "env": plan.env, "version": __version__,
            "env_settings": dict(chosen.settings),
        }  # fmt: skip
        self._spent = sum(one.all_tokens(plan.max_tokens) for one in found.outcomes.values())
        self._reserved = 0
        self.lost = 0
        self.stopped = False
        self.seconds = 0.0
        concurrency = getattr(policy, "concurrency", None)
        self._threads = concurrency or 1
        self._batch = 1 if concurrency else _BATCH * plan.samples

    # -- the loop -------------------------------------------------------------------------------

    def play(self) -> None:
        """Play every game that has no outcome yet."""
        began = time.monotonic()
        self._say()
        blocks = self._blocks()
        waiting = next(blocks, None)
        asked: dict[Future[Texts], _Block] = {}
        threads = ThreadPoolExecutor(self._threads, thread_name_prefix="mint-envs-eval")
        try:
            while waiting or asked:
                while waiting and len(asked) < self._threads and self._affords(waiting):
                    asked[threads.submit(self._ask, waiting)] = waiting
                    waiting = next(blocks, None)
                if not asked:
                    self.stopped = True  # at the limit, with nothing under way that may cost less
                    return
                for future in wait(asked, return_when=FIRST_COMPLETED).done:
                    block = asked.pop(future)
                    self._take(block, future.result())
                    if block.going_on and self._affords(block):
                        asked[threads.submit(self._ask, block)] = block
                    elif block.going_on:
                        self.stopped = True
        finally:
            self.seconds = time.monotonic() - began
            threads.shutdown(wait=False, cancel_futures=True)

    def sorted_outcomes(self) -> Iterator[EvalOutcome]:
        return (self._outcomes[key] for key in sorted(self._outcomes))

    def _blocks(self) -> Iterator[_Block]:
        """Yield what is to be asked; games are made when their turn comes, so that few are held."""
        plan = self._plan
        every = ((at, k) for at in range(len(self._chosen.refs)) for k in range(plan.samples))
        for number, many in enumerate(_chunks(every, self._batch)):
            if any(key not in self._outcomes for key in many):
                yield _Block(number, [(at, self._game(at, k)) for at, k in many])

    def _game(self, place: int, sample: int) -> Game:
        ref = self._chosen.refs[place]
        codec = getattr(self._policy, "codec", None)
        game = Game(self._task, ref.of(self._task), ref, sample, codec)
        self.problem_ids[place] = game.problem_id
        return game

    # -- asking, in a thread ----------------------------------------------------------------------

    def _ask(self, block: _Block) -> Texts:
        """Return what the policy says to each game of a block that goes on."""
        block.began = block.began or time.monotonic()
        plan, games = self._plan, block.going_on
        seed = plan.seed_of(1 << 20, block.place, block.turn)
        if block.turn or self._batch == 1:
            return self._sample([game.context for game in games], 1, seed)
        prompts = [game.context for game in games[:: plan.samples]]
        many = self._sample(prompts, plan.samples, seed)
        return [[text] for group in many for text in group]

    def _sample(self, prompts: Sequence[Any], n: int, seed: int) -> Texts:
        plan = self._plan
        texts = self._policy.sample(prompts, n, plan.max_tokens, plan.temperature, seed)
        if len(texts) != len(prompts) or any(len(group) != n for group in texts):
            raise SettingError(
                f"{self._policy!r} gave {[len(group) for group in texts]} responses to "
                f"{len(prompts)} prompts, not {n} to each"
            )
        return texts

    # -- taking, in the main thread ---------------------------------------------------------------

    def _affords(self, block: _Block) -> bool:
        """Set aside the tokens of a block's next turn, if the limit leaves so many."""
        games = block.going_on
        need = sum(estimated_tokens(game, self._plan.max_tokens) for game in games)
        limit = self._limit
        if limit is not None and self._spent + self._reserved + need > limit:
            return False
        block.reserved = need
        self._reserved += need
        return True

    def _take(self, block: _Block, texts: Texts) -> None:
        games = block.going_on
        self._reserved -= block.reserved
        for game, (said,) in zip(games, texts, strict=True):
            self._spent += spent_tokens(said, estimated_tokens(game, self._plan.max_tokens))
            game.take(said)
        if self._task.single_turn:
            self._score([game for game in games if not game.lost])
        block.turn += 1
        if block.turn == self._plan.max_turns:
            for game in block.going_on:
                game.give_up(block.turn)
        if not block.going_on:
            self._end(block)

    def _score(self, games: Sequence[Game]) -> None:
        rewards = self._task.score_batch([game.pair for game in games]) if games else []
        for game, reward in zip(games, rewards, strict=True):
            game.reward = reward

    def _end(self, block: _Block) -> None:
        seconds = time.monotonic() - block.began
        rows = []
        for place, game in block.games:
            if (place, game.sample) in self._outcomes:
                continue  # of a batch that an earlier run has written a part of
            if game.lost:
                self.lost += 1
                continue
            row = self._row(place, game, seconds / len(block.games))
            rows.append(row)
            self._outcomes[place, game.sample] = EvalOutcome.from_row(row)
        self._file.write(rows)
        self._say()

    def _row(self, place: int, game: Game, seconds: float) -> Mapping[str, Any]:
        reward = game.reward
        assert reward is not None
        return {
            **self._head, **game.ref.to_row(),
            "place": place, "sample": game.sample, "problem_id": game.problem_id,
            "prompt": as_text(game.prompt), "response": game.turns[-1], "turns": game.turns,
            "observations": game.observations, "reward": reward.score, "scored": reward.measured,
            "truncated": game.cut, "parts": dict(reward.parts), "metadata": dict(reward.metadata),
            "usage": {"prompt_tokens": game.prompt_tokens, "completion_tokens": game.tokens},
            "seconds": round(seconds, 3), "refused": self._refused(game, reward),
            **_sampled_row(game), "by_tokens": game.by_tokens,
        }  # fmt: skip

    def _refused(self, game: Game, reward: Reward) -> str | None:
        """Return in which form a right answer was given that was not paid, or None."""
        if reward.score is None or reward.score >= self._plan.pass_mark:
            return None
        return refused_form(self._task, *game.pair, reward)

    def _say(self) -> None:
        if self._tell:
            total = len(self._chosen.refs) * self._plan.samples
            self._tell(f"{self._plan.env} responses", len(self._outcomes), total)


def _sampled_row(game: Game) -> dict[str, Any]:
    """Return the tokens of each turn as they were sampled, if they are known of all turns."""
    if game.sampled is None:
        return {}
    return {
        "response_ids": [list(ids) for ids, _ in game.sampled],
        "response_logprobs": [[round(lp, 6) for lp in lps] for _, lps in game.sampled],
    }


def _chunks(items: Iterable[tuple[int, int]], size: int) -> Iterator[list[tuple[int, int]]]:
    source = iter(items)
    while many := list(islice(source, size)):
        yield many
