"""The conformance kit: is a task, or an environment, what the contract says?

    from mint_envs.testing import check_env, check_task
    check_task(MyTask())            # a task: reward, determinism, examples, hostile text ...
    check_env("mint/Math-v0")       # an environment; for one of ours, its task as well

Both return a ``Report`` when all is well, and otherwise raise ``ContractError`` that lists every
finding, one a line: what is wrong, the input that shows it, what to do. Hypothesis generates the
hostile inputs and shrinks them; the same code gives the same findings on every run.

Any other ``gymnasium.Env`` can be checked too, for what holds of all environments: Gymnasium's
own checks without a warning, determinism by seed, finite rewards, no global random state, and
(if its actions are token sequences) no exception on any tokens.
"""

from __future__ import annotations

from ..reports.report import Finding, Report
from ..responses.texts import HARMLESS
from .envs import check_env
from .tasks import check_task

__all__ = ["HARMLESS", "Finding", "Report", "check_env", "check_task"]
