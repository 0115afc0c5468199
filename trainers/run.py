"""A run: its directory, its checkpoints, and how it stops.

::

    config.json      every setting, and what the backend chose (dtype, threads)
    metrics.jsonl    one object a step
    eval.jsonl       one object an evaluation
    rollouts.jsonl   every episode, as trainers/transcript.py says, and what rebuilds it: env,
                     version, env_settings, seed (``mint-envs replay``)
    checkpoints/     step-000020/ ..., and state.json, which names the newest
    pass_rates.jsonl how often each problem was passed of late (``pass_rates=``)
    curve.svg        reward and accuracy by step
    .lock            held by the process that is at work here

Lines are appended whole, files and folders are written under another name first. What was
written after the newest checkpoint is taken back on resume, so that a resumed run's files are
those of an uninterrupted one.
"""

from __future__ import annotations

import json
import math
import shutil
import signal
import threading
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import mint_envs
from mint_envs.atomic import write_whole
from mint_envs.errors import DatasetError
from mint_envs.evaluate.watch import SecondGrader
from mint_envs.jsonl import append_rows, cut_rows, whole_rows
from mint_envs.reports.curves import draw_run
from mint_envs.reports.drawing import NEEDED, can_draw

from .advantages import too_large
from .backends import Backend
from .config import RunConfig, TrainConfig
from .errors import TrainerError, mistakes_said
from .log import Log
from .pool import EnvPool
from .rollout import Episode
from .stored import pretty, read_state, state_file
from .transcript import rollout_row

#: Rewards beyond this, and not the learning rate, are why something is not finite.
_LARGE_REWARD = 1e6


#: (step, its groups) to metrics.
Look = Callable[[int, Sequence[Sequence[Episode]]], dict[str, float]]


class Run:
    """One run directory and the state of the loop.

    Args:
        folder: the run directory.
        config: the settings.
        log: prints, and forwards metrics to the sinks.
        resume: go on from the newest checkpoint in ``folder``, or from the start without one.

    Raises:
        TrainerError: the folder cannot be written, or holds no run to resume.
    """

    def __init__(self, folder: Path, config: RunConfig, log: Log, resume: bool = False) -> None:
        self.folder, self._config, self._log = folder, config, log
        self.next_step = 1
        self.saved_path: str | None = None
        self.kept: Mapping[str, Any] = {}  # what the checkpoint keeps beside the weights
        self._lasting: dict[str, Any] | None = None  # the newest that is not rolling
        self._last = config.steps
        self._stopping = False
        self._protected = False
        with self._writing():
            (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
            if resume:
                self._take_back_to(read_state(folder))
            write_whole(folder / "config.json", pretty(config.model_dump(mode="json")))

    # -- the loop's side ---------------------------------------------------------------------

    def steps(self, last: int) -> Iterator[int]:
        """Yield the steps that are left; stop early after Ctrl-C."""
        self._last = last
        if self.next_step > last:
            self._log.say(f"All {last} steps are done; go further by --steps.")
        with self._signals():
            while self.next_step <= last and not self.interrupted:
                self._log.begin_step(self.next_step, last)
                yield self.next_step
                self.next_step += 1

    def show_rollout(self, running: int) -> None:
        """Tell the progress bar how many episodes are still running."""
        self._log.show(f"sampling {running} episodes")

    def watch(self, config: TrainConfig, task: Any) -> Look:
        """Return what tells the metrics of the second grader of a step, if there is one.

        Raises:
            TrainerError: there is no such grader, or it cannot be used.
        """
        file = self.folder / "metrics.jsonl"
        if config.watch is None:
            return lambda step, groups_P: {}
        rows = whole_rows(file) if file.exists() else []
        gaps = [row["watch/gap"] for row in rows if "watch/gap" in row]
        try:
            with mistakes_said():
                second = SecondGrader(config.watch, task, config.watch_samples, gaps)
        except ImportError as error:
            raise TrainerError(str(error)) from error

        def look(step: int, groups_P: Sequence[Sequence[Episode]]) -> dict[str, float]:
            episodes = [e for group in groups_P for e in group if e.scored and e.infos]
            said = [(e.ref, [str(i.get("response", "")) for i in e.infos], e.reward)
                    for e in episodes]  # fmt: skip
            with mistakes_said():
                found = second.look(said, np.random.default_rng([config.seed, step]))
            for line in second.words():
                self._log.say(line)
            return found

        return look

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Let a second Ctrl-C wait until the weights are whole again."""
        self._protected = True
        self._log.show("learning")
        try:
            yield
        finally:
            self._protected = False

    def log_step(
        self,
        step: int,
        metrics: Mapping[str, float],
        groups_P: Sequence[Sequence[Episode]],
        pool: EnvPool,
        decode: Callable[[Sequence[int]], str],
    ) -> None:
        """Append a step to the files and print it. ``pool`` made it; ``decode`` is the tokenizer's.

        Raises:
            TrainerError: a metric is not finite: rewards are too large, or training has diverged.
        """
        measured = [e.reward for group in groups_P for e in group if e.scored]
        self._check_finite(step, metrics, measured)
        origin = {
            "env": pool.env,
            "version": mint_envs.__version__,
            "env_settings": pool.settings,
        }
        rows = [
            {**origin, "step": step, **rollout_row(episode, decode)}
            for group in groups_P
            for episode in group
        ]
        self._append("rollouts.jsonl", rows)
        self._append("metrics.jsonl", [{"step": step, **metrics}])
        self._log.step(step, metrics, measured)

    def log_fit(self, step: int, metrics: Mapping[str, float]) -> None:
        """Append a step without episodes to its file, and print it.

        Raises:
            TrainerError: a metric is not finite.
        """
        self._check_finite(step, metrics, ())
        self._append("metrics.jsonl", [{"step": step, **metrics}])
        self._log.fit(step, metrics)

    def _check_finite(
        self, step: int, metrics: Mapping[str, float], rewards: Sequence[float]
    ) -> None:
        for name, value in metrics.items():
            if math.isfinite(value):
                continue
            if max(map(abs, rewards), default=0.0) > _LARGE_REWARD:
                why = f": {name}={value}: {too_large(rewards)}."
            else:
                why = f" diverged: {name}={value}. Lower --lr, or set --grad-clip."
            raise TrainerError(f"step {step}{why} {self._way_on('Then')}")

    def log_eval(self, step: int, found: Sequence[tuple[str, Mapping[str, float]]]) -> None:
        """Append evaluations to their file, one row for all of a step, and print them."""
        if not found:
            return
        row = {name: value for _, metrics in found for name, value in metrics.items()}
        self._append("eval.jsonl", [{"step": step, **row}])
        self._log.evaluation(step, found)

    def wants_checkpoint(self, step: int) -> bool:
        """Return whether to save now: now and then, at the end, and when stopping."""
        every = self._config.rolling_every
        return self._lasts(step) or bool(every and step % every == 0)

    def _lasts(self, step: int) -> bool:
        """Return whether a checkpoint of this step is kept longer than until the next."""
        every = self._config.save_every
        return self.interrupted or step == self._last or bool(every and step % every == 0)

    def save_checkpoint(self, step: int, backend: Backend, kept: Mapping[str, Any]) -> None:
        """Save the backend's state after ``step``, ``kept``, and the curve."""
        name = self.folder / "checkpoints" / f"step-{step:06d}"
        with self.undisturbed(), self._writing():
            rolling = not self._lasts(step)
            sampler, training = backend.save(str(name), rolling)
            state = {"step": step, "sampler": sampler, "training": training, **kept}
            if rolling:
                state["lasting"] = self._lasting
            else:
                self._lasting = state
            write_whole(state_file(self.folder), pretty(state))
            self._drop_old_checkpoints()
            self.saved_path = sampler
            if can_draw():  # undisturbed too: a plotting library half imported is broken
                draw_run(self.folder)

    def write(self, name: str, text: str) -> None:
        """Write a file of the run whole, or not at all."""
        with self._writing():
            write_whole(self.folder / name, text)

    def draw(self) -> None:
        """Draw ``curve.svg`` from the files, or say what draws it."""
        if not can_draw():
            self._log.say(f"No curve.svg: {NEEDED}")
            return
        with self._writing():
            draw_run(self.folder)

    @property
    def way_on(self) -> str:
        """How to go on with this run."""
        if self._config.env.startswith("adapter/"):
            return f"run_grpo(adapter, cfg, resume={str(self.folder)!r})"
        return f"mint-grpo --resume {self.folder}"

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C (or SIGTERM) asked the run to stop, or who read its output is gone."""
        return self._stopping or self._log.reader_gone

    # -- files -------------------------------------------------------------------------------

    def _append(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        with self._writing():
            append_rows(self.folder / name, rows)

    def _take_back_to(self, state: Mapping[str, Any]) -> None:
        """Drop what was written after the checkpoint: whole and broken lines, and folders."""
        done = int(state["step"])
        self.next_step, self.saved_path = done + 1, state["sampler"]
        self.kept = state
        self._lasting = state.get("lasting", dict(state) if done else None)
        for name in ("metrics.jsonl", "rollouts.jsonl", "eval.jsonl"):
            path = self.folder / name
            if path.exists():
                # Before the first checkpoint, the evaluation at step 0 will be made again too.
                cut_rows(path, partial(_is_kept, path, done))
        checkpoints = self.folder / "checkpoints"
        later = [f for f in checkpoints.glob("step-*") if f.name > f"step-{done:06d}"]
        _remove([*later, *checkpoints.glob(".step-*")])  # the latter: killed while saving

    def _drop_old_checkpoints(self) -> None:
        _remove(sorted((self.folder / "checkpoints").glob("step-*"))[: -self._config.keep])

    def _way_on(self, before: str) -> str:
        if (self.folder / "config.json").exists():
            return f"{before} go on with: {self.way_on}"
        return "Name another one by --run-dir, or free some space."

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except DatasetError as error:  # a file that was edited
            raise TrainerError(f"{error}: mend it, or delete the line") from error
        except OSError as error:
            reason = error.strerror or str(error)
            raise TrainerError(
                f"cannot write to the run directory {self.folder}: {reason}. "
                f"{self._way_on('Free some space, then')}"
            ) from error

    # -- Ctrl-C ------------------------------------------------------------------------------

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """The first Ctrl-C lets the step end; the second drops it (but not a half-made update)."""
        if threading.current_thread() is not threading.main_thread():
            yield  # signals go to the main thread; there is nothing to take over
            return
        kinds = (signal.SIGINT, signal.SIGTERM)
        before = {kind: signal.signal(kind, self._on_signal) for kind in kinds}
        try:
            yield
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)

    def _on_signal(self, number: int, frame: types.FrameType | None) -> None:
        if self._stopping and not self._protected:
            raise KeyboardInterrupt
        first, self._stopping = not self._stopping, True
        if first:
            with suppress(RuntimeError):  # the signal came while a line was being written
                self._log.say("Stopping after this step and saving; Ctrl-C again drops the step.")


def _is_kept(path: Path, done: int, row: Mapping[str, Any]) -> bool:
    step = row.get("step")
    if not isinstance(step, int):
        raise TrainerError(f"a line of {path} has no step: delete the line {json.dumps(row)[:80]}")
    return done > 0 and step <= done


def _remove(folders: Sequence[Path]) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
