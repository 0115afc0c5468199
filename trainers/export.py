"""``mint-grpo export RUN_DIR --merged FOLDER | --adapter FOLDER``: a run's model, to take away."""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from mint_envs.atomic import whole_folder
from mint_envs.reports.card import model_card

from .errors import TrainerError
from .stored import read_state, stored_config


class _Parser(argparse.ArgumentParser):
    """Refuses what it cannot read in one line, as the rest of the command does."""

    def error(self, message: str) -> NoReturn:
        how = "mint-grpo export RUN_DIR --merged FOLDER (or --adapter FOLDER)"
        raise TrainerError(f"export: {message.replace('argument ', '', 1)}: {how}")


def export(argv: Sequence[str]) -> int:
    """Write what ``argv`` asks for; return 0.

    Raises:
        TrainerError: no such run, a run on a service, no checkpoint, or a folder that is there.
    """
    parser = _Parser(prog="mint-grpo export", description=__doc__)
    parser.add_argument("run", type=Path, metavar="RUN_DIR")
    kinds = parser.add_mutually_exclusive_group(required=True)
    kinds.add_argument("--merged", type=Path, metavar="FOLDER", help="a whole model")
    kinds.add_argument("--adapter", type=Path, metavar="FOLDER", help="LoRA weights, for peft")
    given = parser.parse_args(argv)
    config, state = stored_config(given.run), read_state(given.run)
    target: Path = given.merged or given.adapter
    if config.backend != "local":
        raise TrainerError(f"{given.run} was trained with --backend {config.backend}: its weights "
                           f"are not on this machine ({state['sampler']})")  # fmt: skip
    if state["training"] is None:
        raise TrainerError(f"{given.run} has no checkpoint yet")
    if target.exists():
        raise TrainerError(f"{target} is there already; name a new folder")
    with whole_folder(target) as folder:
        from .backends.local.merging import write_model

        write_model(config, Path(state["training"]), folder, merged=given.merged is not None)
        card = model_card(given.run, state["step"], merged=given.merged is not None)
        (folder / "README.md").write_text(card, encoding="utf-8")
        shutil.copy(given.run / "config.json", folder / "training.json")
    print(f"Exported: {target}")
    return 0
