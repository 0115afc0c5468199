"""Right answers that were not paid, for the form in which they were given.

What an answer is, the grader says, and nobody else: where it has found one in the response and has
judged it, that stands. Only where it found none, or does not say, the response is looked through
for the usual forms; and what stands in one counts as right if the grader pays it in full once it is
written as the worked example has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..core import Reward, Task
from ..responses.framing import framed
from ..thinking import spoken

_LONGEST_GOLD = 100  # characters; a longer one is a text or a program, and no answer in a form
_LONGEST_TEXT = 20_000  # of a response that is looked through
_FULL = 1.0 - 1e-9

_FORMS = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("a box", r"\\boxed\{([^{}\n]{1,100})\}"),
        ("after ####", r"####[ \t]*([^\n]{1,100})"),
        ("an <answer> tag", r"<answer>\s*([^<\n]{1,100}?)\s*</answer>"),
        ("JSON", r'"(?:final_)?(?:answer|result|value)"\s*:\s*"?([^"{}\n,]{1,100})'),
        ("after 'Answer:'", r"\banswer\s*:\s*([^\n]{1,100})"),
        ("bold", r"\*\*([^*\n]{1,100})\*\*"),
        ("a fenced block", r"```\w*\n([^`\n]{1,100})\n```"),
        ("a sentence, 'The answer is ...'", r"\banswer is:?\s+([^\n]{1,100}?)\.?[ \t]*$"),
        ("after '='", r"=[ \t]*([^\n=]{1,100}?)\.?[ \t]*$"),
    )
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def refused_form(task: Task[Any], problem: Any, response: str, reward: Reward) -> str | None:
    """Return the form in which ``response`` gives the right answer, which was not paid; or None.

    ``reward`` is measured, and not full.
    """
    if not task.single_turn or task.nondeterministic or reward.metadata.get("extracted"):
        return None
    gold = next((text for text, worth in task.examples(problem).items() if worth >= _FULL), None)
    if not isinstance(gold, str) or len(gold) > _LONGEST_GOLD or "\n" in gold.strip():
        return None
    before, _, after = framed(gold)
    for name, content in _found_in(spoken(response)[:_LONGEST_TEXT]):
        again = task.score_batch([(problem, f"{before}{content}{after}")])[0]
        if again.score is not None and again.score >= _FULL:
            return name
    return None


def _found_in(text: str) -> Iterator[tuple[str, str]]:
    """Yield (form, what stands in it), the last of each form."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for name, form in _FORMS:
        found = [match for line in _blocks(text, lines, name) for match in form.findall(line)]
        if found:
            yield name, found[-1].strip()
    if lines and len(lines) == 1:
        yield "the answer alone, as it was written", lines[0].rstrip(".")
    if len(lines) > 1:
        yield "the last line", lines[-1].rstrip(".")
        yield "the first line", lines[0].rstrip(".")
    if len(numbers := set(_NUMBER.findall(text))) == 1:
        yield "the only number of a text", numbers.pop()


def _blocks(text: str, lines: list[str], name: str) -> list[str]:
    """Return what a form is looked for in: the whole of what may span lines, else each line."""
    return [text] if name == "a fenced block" else lines
