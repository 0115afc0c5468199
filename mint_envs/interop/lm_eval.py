"""lm-evaluation-harness: an environment of one turn as a ``Task``.

    task = harness_task("mint/Math-v0", count=64, split="test")
    lm_eval.simple_evaluate(model, tasks=[task])

Unmeasured: NaN, which the mean of ``reward`` leaves out; ``measured`` says how many were not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..core import Task
from ..problems import as_text
from .shapes import TextTask, as_messages, lazily


def harness_task(
    env: str | Task[Any],
    count: int | None = None,
    start: int = 0,
    *,
    max_tokens: int = 256,
    temperature: float = 0.0,
    **settings: Any,
) -> Any:
    """Return a task for ``lm_eval.simple_evaluate``.

    Args:
        env: a registered id, or a ``Task``; of one turn.
        count: problems, from number ``start`` on; None: all of a data set.
        start: the first.
        max_tokens: longest response.
        temperature: 0 is greedy.
        settings: of the environment.

    Raises:
        SettingError: the environment has several turns, a setting is refused, or ``count`` is
            missing where problems have no end.
    """
    task = TextTask(env, **settings).single_turn("mint-envs eval, or inspect_ai")
    options = {
        "until": list(task.task.stop),
        "max_gen_toks": max_tokens,
        "do_sample": temperature > 0,
        "temperature": temperature,
    }
    return _find("MintHarnessTask")(task, task.rows(count, start), options)


class _Problems:
    """What a task of the harness is asked, of problems of an environment."""

    VERSION = 0
    OUTPUT_TYPE = "generate_until"

    def __init__(self, task: TextTask, rows: list[dict[str, Any]], options: dict[str, Any]) -> None:
        from lm_eval.config.task import TaskConfig

        self._task, self._rows, self._options = task, rows, options
        super().__init__()
        name = task.name.rpartition(":")[2].replace("/", "-")
        self._config = TaskConfig(
            task=name, output_type="generate_until", num_fewshot=0, generation_kwargs=options
        )

    def download(self, *_: Any, **__: Any) -> None:
        """Nothing is fetched: problems come from the environment."""

    def has_training_docs(self) -> bool:
        return False

    has_validation_docs = has_training_docs

    def has_test_docs(self) -> bool:
        return True

    def test_docs(self) -> list[dict[str, Any]]:
        return self._rows

    def doc_to_text(self, doc: dict[str, Any]) -> str:
        return as_text(doc["prompt"])

    def doc_to_target(self, doc: dict[str, Any]) -> str:
        return ""

    def fewshot_context(
        self, doc: dict[str, Any], *_: Any, apply_chat_template: bool = False,
        chat_template: Callable[..., Any] | None = None,
        system_instruction: str | None = None, **__: Any,
    ) -> Any:  # fmt: skip
        """The prompt is whole: it has its own worked examples and system message."""
        if not apply_chat_template or chat_template is None:
            return self.doc_to_text(doc)
        messages = [dict(message) for message in as_messages(doc["prompt"])]
        if system_instruction:
            messages.insert(0, {"role": "system", "content": system_instruction})
        return chat_template(messages)

    def construct_requests(self, doc: dict[str, Any], ctx: Any, **more: Any) -> Any:
        from lm_eval.api.instance import Instance

        return Instance(
            request_type="generate_until", doc=doc, arguments=(ctx, self._options), idx=0,
            metadata=more["metadata"],
        )  # fmt: skip

    def process_results(self, doc: dict[str, Any], results: list[str]) -> dict[str, float]:
        reward = self._task.score(doc["task_index"], results[0])
        score = float("nan") if reward.score is None else reward.score
        return {"reward": score, "measured": float(reward.measured)}

    def aggregation(self) -> dict[str, Callable[..., float]]:
        from lm_eval.api.metrics import mean, nanmean

        return {"reward": nanmean, "measured": mean}

    def higher_is_better(self) -> dict[str, bool]:
        return {"reward": True, "measured": True}


def _harness_classes() -> Iterable[type]:
    from lm_eval.api.task import Task as HarnessTask

    return [type("MintHarnessTask", (_Problems, HarnessTask), {})]


_find = lazily(globals(), _harness_classes, "MintHarnessTask")


def __getattr__(name: str) -> Any:
    return _find(name)
