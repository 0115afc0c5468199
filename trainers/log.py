"""What a run prints, its progress bar, and the optional sinks."""

from __future__ import annotations

import importlib
import math
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)

from mint_envs.atomic import write_whole

from .config import RunConfig
from .errors import TrainerError

#: After so many steps in a row without signal, say what to change.
_PATIENCE = 3
#: Off a terminal, what has printed nothing for so many seconds says what it is doing.
_QUIET_S = 30.0


class Log:
    """Prints what MinT users know (``Model:``, ``Step N: accuracy=..., datums=...``, ``Saved:``).

    Args:
        sinks: further takers of metrics, ``sink(step, metrics)``.
        out: where to print; a progress bar is shown if it is a terminal.
        told: prints the line of a step in place of us: (step, measured rewards, datums).
        reward_line: print ``avg_reward`` in place of ``accuracy``, as MinT's chat demo does.
    """

    def __init__(
        self,
        sinks: Sequence[Callable[[int, Mapping[str, float]], None]] = (),
        out: Any = None,
        reward_line: bool = False,
        told: Callable[[int, Sequence[float], int], None] | None = None,
    ) -> None:
        self._console = _Console(
            file=out or sys.stdout, soft_wrap=True, highlight=False, emoji=False
        )
        self._sinks = sinks
        self._reward_line, self._told = reward_line, told
        self._advice = _Advice()
        self._progress: Progress | None = None
        self._task: Any = None
        self._alive = _Alive(lambda text: self._console.print(text, markup=False))

    def say(self, text: str) -> None:
        """Print one line."""
        self._alive.said()
        self._console.print(text, markup=False)

    @property
    def reader_gone(self) -> bool:
        """Whether the output was a pipe that was closed (``| head -1``): nobody is reading."""
        return self._console.reader_gone

    def begin(self) -> None:
        """From here to ``close``, off a terminal, a long silence is broken by a line."""
        if not self._console.is_terminal:
            self._alive.start()

    def begin_step(self, step: int, last: int) -> None:
        """Show the progress bar, on a terminal."""
        self._alive.step = f"step {step}, "
        self.show("sampling")
        if self._progress is None and self._console.is_terminal:
            columns = (
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
            )
            self._progress = Progress(*columns, console=self._console, transient=True)
            self._progress.start()
            self._task = self._progress.add_task("training", total=last, completed=step - 1)

    def show(self, doing: str) -> None:
        """Say in the progress bar, or when it takes long, what is being done."""
        self._alive.doing = doing
        if self._progress is not None:
            self._progress.update(self._task, description=doing)

    def step(self, step: int, metrics: Mapping[str, float], rewards: Sequence[float] = ()) -> None:
        """Print the line of a step, forward its metrics, and advise if nothing is learned."""
        if self._told is not None:
            self._told(step, list(rewards), int(metrics["datums"]))
        else:
            self.say(
                f"Step {step}: {self._first(metrics)}, datums={metrics['datums']:.0f}, "
                f"reward={metrics.get('reward', math.nan):.3f}, {metrics['seconds']:.1f}s"
            )
        for advice in self._advice.after(metrics):
            self.say(advice)
        self._forward(step, metrics)

    def fit(self, step: int, metrics: Mapping[str, float]) -> None:
        """Print the line of a step on given responses, and forward its metrics."""
        self.say(
            f"Step {step}: loss={metrics.get('loss', math.nan):.3f}, rows={metrics['rows']:.0f}, "
            f"tokens={metrics['tokens']:.0f}, {metrics['seconds']:.1f}s"
        )
        self._forward(step, metrics)

    def _forward(self, step: int, metrics: Mapping[str, float]) -> None:
        if self._progress is not None:
            self._progress.update(self._task, completed=step)
        self.show("evaluating and saving")
        for sink in self._sinks:
            sink(step, metrics)

    def _first(self, metrics: Mapping[str, float]) -> str:
        if "reward" not in metrics:
            return "nothing measured"
        if self._reward_line:
            return f"avg_reward={metrics['reward']:.3f}"
        return f"accuracy={metrics['accuracy']:.1%}"

    def evaluation(self, step: int, found: Sequence[tuple[str, Mapping[str, float]]]) -> None:
        """Print a line for each evaluation, and forward all metrics."""
        for title, metrics in found:
            self.say(f"Eval after step {step} {title}: {', '.join(_shares(metrics))}")
        for sink in self._sinks:
            sink(step, {name: value for _, metrics in found for name, value in metrics.items()})

    def close(self) -> None:
        """Take the progress bar away."""
        self._alive.stop()
        if self._progress is not None:
            self._progress.stop()
            self._progress = None


def _shares(metrics: Mapping[str, float]) -> list[str]:
    """Return what is measured, as per cent, with an interval where there is one; a loss in nats."""
    shown = []
    for name, value in metrics.items():
        last = name.rpartition("/")[2]
        if last in ("problems", "held_out") or last.endswith(("_low", "_high")):
            continue
        if last == "loss":
            shown.append(f"loss={value:.3f}")
            continue
        low, high = metrics.get(f"{name}_low"), metrics.get(f"{name}_high")
        between = "" if low is None or high is None else f" ({low:.1%} to {high:.1%})"
        shown.append(f"{last}={value:.1%}{between}")
    return shown


class _Alive:
    """Breaks a silence: a step on a slow machine takes minutes, and prints one line at its end."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.step, self.doing = "", "evaluating"
        self._say = say
        self._stopped = threading.Event()
        self._last = self._since = time.monotonic()

    def start(self) -> None:
        self.said()
        threading.Thread(target=self._speak, name="mint-grpo-alive", daemon=True).start()

    def said(self) -> None:
        """A line was printed just now."""
        self._last = self._since = time.monotonic()

    def stop(self) -> None:
        self._stopped.set()

    def _speak(self) -> None:
        while not self._stopped.wait(max(self._last + _QUIET_S - time.monotonic(), 0.01)):
            now = time.monotonic()
            if now - self._last >= _QUIET_S:
                self._last = now
                self._say(f"  ({self.step}{self.doing}: {now - self._since:.0f}s)")


class _Console(Console):
    """Rich exits at once when its output is closed; a run is to save first."""

    reader_gone = False

    def on_broken_pipe(self) -> None:
        self.reader_gone = self.quiet = True


class _Advice:
    """Says what to change when steps in a row teach nothing, as the MinT documents do."""

    def __init__(self) -> None:
        self._no_datums = self._no_accuracy = self._no_verdict = 0

    def after(self, metrics: Mapping[str, float]) -> list[str]:
        self._no_datums = self._no_datums + 1 if metrics["datums"] == 0 else 0
        blind = metrics["unmeasured"] == 1
        self._no_verdict = self._no_verdict + 1 if blind else 0
        self._no_accuracy = self._no_accuracy + 1 if metrics.get("reward") == 0 else 0
        lines = []
        if self._no_verdict == _PATIENCE:
            lines.append(
                f"  nothing measured for {_PATIENCE} steps: the environment gave no verdict on any "
                "response. See 'metadata' in rollouts.jsonl: a sandbox or a judge may be down, "
                "or the reward function returned None."
            )
        elif self._no_datums == _PATIENCE:
            lines.append(
                f"  datums=0 for {_PATIENCE} steps: all rewards of each group were equal, so there "
                "is nothing to learn from. Raise --group or --batch, or --temperature."
            )
        if self._no_accuracy == _PATIENCE:
            lines.append(
                f"  accuracy=0.0% for {_PATIENCE} steps: no response was right. Raise --max-tokens "
                "if responses are cut off (see 'truncated' in metrics.jsonl), or begin with easier "
                "problems."
            )
        return lines


def open_sinks(config: RunConfig, folder: Path) -> list[Callable[[int, Mapping[str, float]], None]]:
    """Return one sink for each name in ``log_to``; a resumed run goes on in what it had there.

    Raises:
        TrainerError: its package is not installed.
    """
    makers = {"tensorboard": _tensorboard, "trackio": _trackio, "wandb": _wandb}
    sinks = []
    for name in config.log_to:
        try:
            sinks.append(makers[name](folder, config))
        except ImportError as error:
            raise TrainerError(
                f"--log-to {name} needs its package: pip install 'mint-envs[{name}]'"
            ) from error
        except Exception as error:  # many kinds: no account, no network, no disk
            raise TrainerError(f"--log-to {name} cannot be used: {error}. Leave it out.") from error
    return sinks


def _tensorboard(folder: Path, config: RunConfig) -> Callable[..., None]:
    writer = importlib.import_module("torch.utils.tensorboard").SummaryWriter(str(folder))

    def sink(step: int, metrics: Mapping[str, float]) -> None:
        for name, value in metrics.items():
            writer.add_scalar(name, value, step)
        writer.flush()

    return sink


def _trackio(folder: Path, config: RunConfig) -> Callable[..., None]:
    trackio = importlib.import_module("trackio")
    trackio.init(**_place(folder, config))
    return lambda step, metrics: trackio.log(dict(metrics), step=step)


def _wandb(folder: Path, config: RunConfig) -> Callable[..., None]:
    wandb = importlib.import_module("wandb")
    kept = folder / "wandb-id"  # by it a resumed run goes on there, whatever its name
    id = kept.read_text() if kept.exists() else uuid.uuid4().hex[:8]
    wandb.init(**_place(folder, config), dir=str(folder), id=id)
    write_whole(kept, id)
    return lambda step, metrics: wandb.log(dict(metrics), step=step)


def _place(folder: Path, config: RunConfig) -> dict[str, Any]:
    """Return where a run is logged to."""
    return {
        "project": config.log_project,
        "name": config.log_name or folder.name,
        "config": config.model_dump(mode="json"),
        "resume": "allow",
    }
