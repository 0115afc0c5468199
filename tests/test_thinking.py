"""What a response says aloud, and that every family's grader looks at nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import mint_envs
from mint_envs import thinking
from mint_envs.chat import grade_instructions
from mint_envs.code.extract import extract
from mint_envs.core import Reward
from mint_envs.math import grade
from mint_envs.thinking import ALONE, CHANNELS, TAGS, TOKENS, aloud, blanked, spoken, thoughts
from mint_envs.tooluse import parse_calls, write_calls

PAIRS = {
    **{f"<{name}>": f"</{name}>" for name in TAGS},
    **TOKENS,
    "<|channel|>analysis<|message|>": "<|end|><|start|>assistant<|channel|>final<|message|>",
    "<|think|>": "<|end|><|begin|>assistant<|content|>",
    "to=self<|message|>": "<|eom|><|start|>assistant to=user<|message|>",
}
PROGRAM = "def f():\n    print('<think>')\n    return \"</think>\""


@pytest.mark.parametrize(("opening", "closing"), PAIRS.items(), ids=PAIRS)
def test_every_mark_that_models_write(opening: str, closing: str) -> None:
    assert spoken(f"{opening}So it is 4.{closing}\n\n5\n") == "5"
    assert spoken(f"{opening}So it is 4.") == ""
    assert spoken(f"5 {opening}or 4?") == "5"
    assert spoken(f"{opening}\n{closing}") == ""


@pytest.mark.parametrize("closing", [PAIRS[o] for o in PAIRS if o not in CHANNELS] + [*ALONE])
def test_a_block_that_the_template_opened(closing: str) -> None:
    assert spoken(f"So it is 4.{closing}5") == "5"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", ""),
        (" \n 5 \t", "5"),
        ("<THINK>4</THINK>5", "5"),
        ("<Think>4</think >5", "5"),
        ('<think type="long">4</think>5', "5"),
        ("<think/>5", "<think/>5"),
        ("<thinker>4</thinker>5", "<thinker>4</thinker>5"),
        ("<|end|>", "<|end|>"),  # the end of any message: alone it ends no thought
        ("5<|end|>", "5<|end|>"),
        ("[think] 5", "[think] 5"),  # a stage direction
        # several blocks, and what is said between them
        ("a<think>1</think>b<think>2</think>c", "abc"),
        ("a<think>1</think>b<think>2", "ab"),
        ("1</think>a<think>2</think>b", "ab"),
        ("1</think>a</think>b", "b"),
        ("a<think>1</think>b</think>c", "c"),
        # within each other, and of two kinds
        ("<think>1<think>2</think>3</think>a", "a"),
        ("<think>I write <think> no more.</think>a", "a"),
        ("<think>1<thinking>2</thinking>3</think>a", "a"),
        ("<think>1</thinking>2", ""),
        ("<think>1[/THINK]2</think>a", "a"),
        # a thought that quotes marks
        ('<think>I end with "</think>", then say 4.</think>5', "5"),
        ('<think>I end with "</think>", then say 4', ""),
        ("<think>`</think>` ends it</think>5", "5"),
        ("<think>```python\nx = 1\n```</think>```python\nx = 2\n```", "```python\nx = 2\n```"),
        ("<think>```python\nx = 1\n</think>```python\nx = 2\n```", "```python\nx = 2\n```"),
        ("<think>It's 4, isn't it?</think>It's 5.", "It's 5."),
        ("I don't know <think>it's 4</think>", "I don't know"),
        ("'tis <think>it's 4</think> 5", "'tis  5"),
        # an answer that quotes them
        ("Write `<think>` first.", "Write `<think>` first."),
        ('He wrote "<think>4</think>".', 'He wrote "<think>4</think>".'),
        ('{"query": "<think> and </think>"}', '{"query": "<think> and </think>"}'),
        ('{"query": "a \\"<think>"}', '{"query": "a \\"<think>"}'),
        (f"<think>4</think>{PROGRAM}", PROGRAM),
        ("```\n<think>\n4\n</think>\n```", "```\n<think>\n4\n</think>\n```"),
        ("4</think>```py\ns = '''\n</think>'''\n```", "```py\ns = '''\n</think>'''\n```"),
        ("```py\n<think>4</think>\n```py\n5\n```", "```py\n\n```py\n5\n```"),  # never closed
        # what is left joins to a mark
        ("<th<think>1</think>ink>2</think>a", "a"),
        ("</th<think>1</think>ink>a", "a"),
        # gpt-oss
        ("<|channel|>analysis<|message|>4<|end|><|start|>assistant<|channel|>commentary to=f",
         "<|channel|>commentary to=f"),
        ("<|channel|>analysis<|message|>4<|return|>", ""),
    ],
)  # fmt: skip
def test_what_is_said(text: str, said: str) -> None:
    assert spoken(text) == said


def test_marks_within_marks_say_nothing() -> None:
    text = "4"
    for _ in range(9):
        text = f"<th<think></think>ink>{text}</th<think></think>ink>"
    assert spoken(text) == ""


def test_the_indentation_of_a_program_is_part_of_it() -> None:
    assert aloud("<think>4</think>    x = 1\n    y = 2") == "    x = 1\n    y = 2"


# -- any text -------------------------------------------------------------------------------------

PIECES = [
    *PAIRS, *PAIRS.values(), "<THINK>", "</Think >", '<think a="b">', '"', "'", "`", "```", "```\n",
    "```py\n", "~~~\n", "\n", " ", "\\", '\\"', "a", "<", ">", "</", "think", "<think", "<think ",
    "</think", "<th", "ink>", "it's ", '"x', "`````", "4", "\ud800", "\r",
]  # fmt: skip
ANY = st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | st.text(max_size=60)


@settings(max_examples=2000, deadline=None)
@given(ANY)
@example("```\nA\n<think>\n```py\n</think>\nB\n```\n<think>c</think>\n```")
@example('" <think>1</think> " <think>2</think> "')
def test_properties(text: str) -> None:
    said = spoken(text)
    assert spoken(said) == said
    assert len(said) <= len(text)
    assert thoughts(said) == []
    assert said == said.strip()
    kept = blanked(text)
    assert len(kept) == len(text)
    assert all(one in (" ", other) for one, other in zip(kept, text, strict=True))


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab \n<>", max_size=30), st.text(alphabet="ab \n", max_size=30))
def test_a_thought_in_front_changes_nothing(thought: str, answer: str) -> None:
    assert spoken(f"<think>{thought}</think>{answer}") == answer.strip()
    assert spoken(f"{thought}</think>{answer}") == answer.strip()
    assert spoken(f"<think>{thought}") == ""


def test_time_is_linear() -> None:
    """Sixteen times the text takes some sixteen times as long, and not 256 times."""
    for piece in PIECES:
        for unit in (piece, piece + "<", f'{piece}"', f"{piece}</think>"):
            for head, tail in (("<think>", ""), ("", "</think>"), ("", "<think>")):
                tries = (growth(head, unit, tail) for _ in range(5))
                assert any(times < 80 for times in tries), (head, unit, tail)


def growth(head: str, unit: str, tail: str) -> float:
    def seconds(size: int) -> float:
        text = head + unit * (size // len(unit)) + tail
        start = time.process_time()
        spoken(text)
        return max(time.process_time() - start, 0.0005)

    return seconds(48_000) / seconds(3_000)


# -- the graders ----------------------------------------------------------------------------------

CALL = write_calls([("ping", {})])


def calls(text: str) -> Reward:
    return Reward(float([c.name for c in parse_calls(text) if c.ok] == ["ping"]))


def followed(text: str) -> Reward:
    return grade_instructions(text, [("startend:end_checker", {"end_phrase": "Bye."})])


def program(text: str) -> Reward:
    return Reward(float("return 5" in extract(text)))


RIGHT: Mapping[str, tuple[Callable[[str], Reward], str]] = {
    "math": (lambda text: grade("5", text), r"So it is \boxed{5}."),
    "math, a number": (lambda text: grade("5", text), "5"),
    "math, strict": (lambda text: grade("5", text, strict=True), "#### 5"),
    "code": (program, "```python\ndef f():\n    return 5\n```"),
    "code, no fence": (program, "def f():\n    return 5\n"),
    "tool use": (calls, CALL),
    "chat": (followed, "The Nile. Bye."),
}


@pytest.mark.parametrize(("verdict", "right"), RIGHT.values(), ids=RIGHT)
@pytest.mark.parametrize("opening", PAIRS)
def test_what_is_only_thought_earns_nothing(
    verdict: Callable[[str], Reward], right: str, opening: str
) -> None:
    closing = PAIRS[opening]
    assert verdict(right).score == 1.0
    assert verdict(f"{opening}Hm.{closing}\n{right}").score == 1.0
    for thought in (
        f"{opening}{right}", f"{opening}{right}{closing}", f"{opening}{right}{closing}\nI see.",
    ):  # fmt: skip
        assert verdict(thought).score == 0.0
    if opening not in CHANNELS:
        assert verdict(f"{right}{closing}").score == 0.0
        assert verdict(f"{right}{closing}\nI see.").score == 0.0


def test_a_program_that_prints_a_mark_runs() -> None:
    shown = f"<think>Hm.</think>\n```python\n{PROGRAM}\n```"
    assert extract(shown) == PROGRAM
    assert extract(f"Hm.</think>{PROGRAM}") == PROGRAM


def test_spans_are_places_in_the_whole_text() -> None:
    text = f"<think>{CALL}</think> {CALL}"
    (call,) = parse_calls(text)
    assert text[slice(*call.span)] == CALL
    assert call.span[0] > len(CALL)


def test_the_response_is_kept_as_it_is() -> None:
    env = mint_envs.make("mint/Math-v0", digits=1)
    env.reset(seed=1)
    text = "<think>Hm.</think> 4"
    *_, info = env.step([*text.encode(), 258])
    assert info["response"] == text


@pytest.mark.parametrize("id", ["mint/Math-v0", "mint/Code-v0", "mint/ToolUse-v0", "mint/Chat-v0"])
@pytest.mark.parametrize(
    ("text", "ended", "only"),
    [("<think>Hm", False, True), ("Hm", False, False), ("<think>Hm", True, False),
     ("<think>Hm</think>5", False, False), ("", False, False)],
)  # fmt: skip
def test_a_response_that_is_all_thought_and_was_cut_says_so(
    id: str, text: str, ended: bool, only: bool
) -> None:
    env = mint_envs.make(id)
    env.reset(seed=1)
    _, reward, *_, info = env.step([*text.encode(), *([258] * ended)])
    assert info["metadata"].get("only_thought", False) is only
    assert reward == 0.0 or id == "mint/Chat-v0"


def test_every_mark_has_a_word_by_which_texts_without_marks_are_told() -> None:
    marks = [f"<{tag}>" for tag in thinking.TAGS]
    marks += [*thinking.TOKENS, *thinking.TOKENS.values(), *thinking.CHANNELS, *thinking.ALONE]
    for mark in marks:
        assert any(word in mark.lower() for word in thinking._HINTS), mark
