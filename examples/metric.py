"""Metric: how near is the response to a reference? Needs: pip install 'mint-envs[metric]'

    mint-envs play metric:example/Dates-v0 --response "On March 4, 2021" --set metric=chrf

A metric gives partial credit, and ranks what shares letters or words above what shares the
meaning: take it where the wording is the task, as here, and not for free text.
"""

from datetime import date, timedelta
from typing import Annotated

from rapidfuzz.distance import Levenshtein
from sacrebleu import sentence_bleu, sentence_chrf

import mint_envs
from mint_envs import Reward, Task
from mint_envs.errors import require


class Dates(Task[date]):
    """Write a date out: 2021-03-04 is "Thursday, 4 March 2021"."""

    stop = ("\n",)

    def __init__(self, metric: Annotated[str, "'edit', 'chrf' or 'bleu'"] = "edit") -> None:
        require(metric in _METRICS, f"metric={metric!r}: one of {', '.join(_METRICS)}")
        self.metric = metric

    def sample(self, rng):
        return date(1950, 1, 1) + timedelta(days=int(rng.integers(40_000)))

    def prompt(self, problem):
        shown = f"2000-02-29 -> {_written(date(2000, 2, 29))}\n"
        return f"{shown}{problem.isoformat()} ->"

    def score(self, problem, response):
        text, right = response.strip()[:1000], _written(problem)
        near = 1.0 if text == right else min(_METRICS[self.metric](text, right), 0.99)
        return Reward(near, {self.metric: near})

    def examples(self, problem):
        return {_written(problem): 1.0, "": 0.0}


def _written(day):
    return f"{day:%A}, {day.day} {day:%B} {day.year}"


#: All are 1 for the same text, and 0 for one that has nothing in common.
_METRICS = {
    "edit": Levenshtein.normalized_similarity,
    "chrf": lambda text, right: sentence_chrf(text, [right]).score / 100,
    "bleu": lambda text, right: sentence_bleu(text, [right]).score / 100,
}

mint_envs.register("example/Dates-v0", Dates)
