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
from mint_envs.atomic import lock, write_whole
from mint_envs.errors import DatasetError, MintEnvsError
from mint_envs.evaluate.watch import SecondGrader
from mint_envs.jsonl import append_rows, cut_rows, whole_rows
from mint_envs.reports.curves import draw_run
from mint_envs.reports.drawing import NEEDED, can_draw

from .advantages import too_large
from .backends import Backend
from .config import TrainConfig
from .errors import TrainerError
from .log import Log
from .pool import EnvPool
from .rollout import Episode
from .transcript import rollout_row

LOCK = ".lock"
#: Rewards beyond this, and not the learning rate, are why something is not finite.
_LARGE_REWARD = 1e6


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

    def __init__(self, folder: Path, config: TrainConfig, log: Log, resume: bool = False) -> None:
        self.folder, self._config, self._log = folder, config, log
        self.next_step = 1
        self.saved_path: str | None = None
        self.place: Any = None  # of the checkpoint in the stream of problems; None: by the step
        self._lasting: dict[str, Any] | None = None  # the newest that is not rolling
        self._stopping = False
        self._protected = False
        with self._writing():
            (folder / "checkpoints").mkdir(parents=True, exist_ok=True)
            if resume:
                self._take_back_to(read_state(folder))
            write_whole(folder / "config.json", _pretty(config.model_dump(mode="json")))

    # -- the loop's side ---------------------------------------------------------------------

    def steps(self, last: int) -> Iterator[int]:
        """Yield the steps that are left; stop early after Ctrl-C."""
        with self._signals():
            while self.next_step <= last and not self.interrupted:
                self._log.begin_step(self.next_step, last)
                yield self.next_step
                self.next_step += 1

    def show_rollout(self, running: int) -> None:
        """Tell the progress bar how many episodes are still running."""
        self._log.show(f"sampling {running} episodes")

    def watch(self, task: Any) -> Callable[[int, Sequence[Sequence[Episode]]], dict[str, float]]:
        """Return what tells the metrics of the second grader of a step, if there is one.

        Raises:
            TrainerError: there is no such grader, or it cannot be used.
        """
        config, file = self._config, self.folder / "metrics.jsonl"
        if config.watch is None:
            return lambda step, groups_P: {}
        rows = whole_rows(file) if file.exists() else []
        gaps = [row["watch/gap"] for row in rows if "watch/gap" in row]
        with _said_in_one_line():
            second = SecondGrader(config.watch, task, config.watch_samples, gaps)

        def look(step: int, groups_P: Sequence[Sequence[Episode]]) -> dict[str, float]:
            episodes = [e for group in groups_P for e in group if e.scored and e.infos]
            said = [(e.ref, [str(i.get("response", "")) for i in e.infos], e.reward)
                    for e in episodes]  # fmt: skip
            with _said_in_one_line():
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
        for name, value in metrics.items():
            if not math.isfinite(value):
                raise TrainerError(self._not_finite(step, name, value, groups_P))
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
        measured = [e.reward for group in groups_P for e in group if e.scored]
        self._log.step(step, metrics, measured)

    def _not_finite(
        self, step: int, name: str, value: float, groups_P: Sequence[Sequence[Episode]]
    ) -> str:
        """Return what to say of a metric that is not finite, and what to do."""
        rewards = [e.reward for group in groups_P for e in group if e.scored]
        if max(map(abs, rewards), default=0.0) > _LARGE_REWARD:
            return f"step {step}: {name}={value}: {too_large(rewards)}. {self._way_on('Then')}"
        return (
            f"step {step} diverged: {name}={value}. Lower --lr, or set --grad-clip. "
            f"{self._way_on('Then')}"
        )

    def log_eval(self, step: int, found: Sequence[tuple[str, Mapping[str, float]]]) -> None:
        """Append evaluations to their file, one row for all of a step, and print them."""
        if not found:
            return
        row = {name: value for _, metrics in found for name, value in metrics.items()}
        self._append("eval.jsonl", [{"step": step, **row}])
        self._log.evaluation(step, found)

    def wants_checkpoint(self, step: int, last: int) -> bool:
        """Return whether to save now: now and then, at the end, and when stopping."""
        every = self._config.rolling_every
        return self._lasts(step, last) or bool(every and step % every == 0)

    def _lasts(self, step: int, last: int) -> bool:
        """Return whether a checkpoint of this step is kept longer than until the next."""
        every = self._config.save_every
        return self.interrupted or step == last or bool(every and step % every == 0)

    def save_checkpoint(self, step: int, backend: Backend, place: Mapping[str, Any]) -> None:
        """Save the backend's state after ``step``, which problems are done with, and the curve."""
        name = self.folder / "checkpoints" / f"step-{step:06d}"
        with self.undisturbed(), self._writing():
            rolling = not self._lasts(step, self._config.steps)
            sampler, training = backend.save(str(name), rolling)
            state = {"step": step, "sampler": sampler, "training": training, "place": place}
            if rolling:
                state["lasting"] = self._lasting
            else:
                self._lasting = state
            write_whole(_state_file(self.folder), _pretty(state))
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
        self.place = state.get("place")
        self._lasting = state.get("lasting", dict(state) if done else None)
        for name in ("metrics.jsonl", "rollouts.jsonl", "eval.jsonl"):
            path = self.folder / name
            if path.exists():
                cut_rows(path, partial(_stays, path, done))
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


@contextmanager
def _said_in_one_line() -> Iterator[None]:
    try:
        yield
    except (MintEnvsError, ImportError) as error:
        raise TrainerError(str(error)) from error


def read_state(folder: Path) -> dict[str, Any]:
    """Return the newest checkpoint of a run: ``step``, and the paths ``sampler``, ``training``.

    A run that was stopped before its first checkpoint is at step 0, and both paths are None.

    Raises:
        TrainerError: ``folder`` is no run, or its ``state.json`` is damaged.
    """
    path = _state_file(folder)
    if not path.exists():
        read_config(folder)
        return {"step": 0, "sampler": None, "training": None}
    state = _read_object(path, "delete it to begin the run again from its first step")
    step, paths = state.get("step"), [state.get("sampler"), state.get("training")]
    if not isinstance(step, int) or step < 1 or not all(isinstance(p, str) for p in paths):
        raise TrainerError(
            f"{path} does not name a checkpoint: delete it to begin the run again from its first "
            "step"
        )
    own = {name: _own(folder, state[name]) for name in ("sampler", "training")}
    more = {name: value for name, value in state.items() if name in ("lasting", "place")}
    return {"step": step, **own, **more}


def fall_back(folder: Path) -> dict[str, Any] | None:
    """Name the newest lasting checkpoint in place of a rolling one that is gone; return its state.

    None: there is none.
    """
    lasting = read_state(folder).get("lasting")
    if not isinstance(lasting, dict):
        return None
    write_whole(_state_file(folder), _pretty(lasting))
    return read_state(folder)


def _state_file(folder: Path) -> Path:
    return folder / "checkpoints" / "state.json"


def read_config(folder: Path) -> dict[str, Any]:
    """Return the settings that a run was started with.

    Raises:
        TrainerError: ``folder`` is no run.
    """
    path = folder / "config.json"
    if not path.exists():
        raise TrainerError(f"{folder} is not a run: it has no config.json")
    config = _read_object(path, "start a new run")
    if not isinstance(config.get("env"), str):
        raise TrainerError(f'{path} names no environment: put "env" back, or start a new run')
    return config


def _read_object(path: Path, next_step: str) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise TrainerError(f"{path} cannot be read: {error}. Mend it, or {next_step}") from error
    if not isinstance(value, dict):
        raise TrainerError(f"{path} is not a JSON object. Mend it, or {next_step}")
    return value


def _own(folder: Path, saved: str) -> str:
    """Return a checkpoint's path in ``folder``, which may have been moved or copied since."""
    here = folder / "checkpoints" / Path(saved).name
    return str(here) if "://" not in saved and here.is_dir() else saved


def _stays(path: Path, done: int, row: Mapping[str, Any]) -> bool:
    """Before the first checkpoint, the evaluation at step 0 will be made again too."""
    return done > 0 and _step_of(row, path) <= done


def _step_of(row: Mapping[str, Any], path: Path) -> int:
    step = row.get("step")
    if not isinstance(step, int):
        raise TrainerError(f"a line of {path} has no step: delete the line {json.dumps(row)[:80]}")
    return step


def _remove(folders: Sequence[Path]) -> None:
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


def claim_folder(folder: Path) -> None:
    """Check that a new run may use ``folder``.

    Raises:
        TrainerError: it holds a run already, or something is in the way.
    """
    if (folder / "config.json").exists():
        raise TrainerError(
            f"{folder} holds a run already. Go on with it by --resume {folder}, or name another "
            "--run-dir."
        )
    if folder.exists() and not folder.is_dir():
        raise TrainerError(f"--run-dir {folder} is a file; name a folder")


@contextmanager
def sole_use(folder: Path) -> Iterator[None]:
    """Keep other processes out of a run directory. The lock ends with this one, however it ends.

    Raises:
        TrainerError: another process is at work in it, or it cannot be written.
    """
    try:
        file = (folder / LOCK).open("a")
    except OSError as error:
        raise TrainerError(
            f"cannot write to the run directory {folder}: {error.strerror}. Name another one by "
            "--run-dir, or go on in a copy of it by --resume."
        ) from error
    with file:
        if not lock(file):
            raise TrainerError(
                f"another process is at work in {folder}: wait for it or stop it, or name another "
                "--run-dir"
            )
        yield


def _pretty(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2, sort_keys=True) + "\n"
