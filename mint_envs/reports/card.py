"""The model card of a run: what was trained, on what, by which version, to which accuracy."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .. import __version__
from ..jsonl import read_rows

#: What is in the folder, merged or not.
_WHAT = {True: "A whole model, LoRA weights merged.", False: "LoRA weights alone."}

_CARD = """---
base_model: {model}
library_name: {library}
tags: [mint-envs, grpo, lora]
---

# {model}, trained on {env}

{what} Trained with GRPO by mint-envs {version}, {steps} steps of {batch} problems and {group}
responses each, on `{env}` with the settings `{settings}`.

{measured}

All settings are in `training.json`.
"""


_CARD_GIVEN = """---
base_model: {model}
library_name: {library}
tags: [mint-envs, sft, lora]
---

# {model}, trained on {data}

{what} Trained by mint-envs {version} on responses that were given, {steps} steps of {batch} rows of
`{data}`.

{measured}

All settings are in `training.json`.
"""


def model_card(run: Path, steps: int, merged: bool) -> str:
    """Return the card of the model that the run in ``run`` had after so many steps."""
    config = json.loads((run / "config.json").read_text(encoding="utf-8"))
    said = []
    rates = [row["accuracy"] for row in _newest_rows(run / "metrics.jsonl", 5) if "accuracy" in row]
    if rates:
        mean = sum(rates) / len(rates)
        said.append(f"Accuracy in the last {len(rates)} steps of training: {mean:.1%}.")
    for row in _newest_rows(run / "eval.jsonl", 1):
        if "eval/loss" in row:
            said.append(f"After step {row['step']}, held-out loss {row['eval/loss']:.3f} nats.")
        if "eval/accuracy" in row:
            held = "held-out" if row["eval/held_out"] else "not held-out"
            said.append(
                f"After step {row['step']}, accuracy {row['eval/accuracy']:.1%} on "
                f"{row['eval/problems']} {held} problems."
            )
    versions = [row["version"] for row in _newest_rows(run / "rollouts.jsonl", 1)]
    if config["env"] == "sft":
        return _CARD_GIVEN.format(
            model=config["base_model"], data=config["data"], version=__version__, steps=steps,
            batch=config["batch"], library="transformers" if merged else "peft",
            measured=" ".join(said), what=_WHAT[merged],
        )  # fmt: skip
    return _CARD.format(
        model=config["base_model"], env=config["env"], version=(versions or ["?"])[0], steps=steps,
        batch=config["batch"], group=config["group"], settings=json.dumps(config["env_settings"]),
        library="transformers" if merged else "peft", measured=" ".join(said),
        what=_WHAT[merged],
    )  # fmt: skip


def _newest_rows(path: Path, many: int) -> Iterable[Any]:
    return deque((row for _, row in read_rows(path)), maxlen=many) if path.exists() else ()
