"""The program in a response."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mint_envs.code.extract import extract

pytestmark = pytest.mark.quick

F = "def f(x):\n    return x"


@pytest.mark.parametrize(
    ("response", "program"),
    [
        (f" ```python\n{F}\n```", F),
        (f"Here:\n```py\n{F}\n```\nDone.", F),
        (f"```\n{F}\n```", F),
        (f"~~~python\n{F}\n~~~", F),
        (f"````python\n{F}\n````", F),
        (f"```python\n{F}", F),  # cut off
        (f"```python\nx = 1\n```\ntext\n```python\n{F}\n```", F),  # the last counts
        (f"```python\nx = 1\n```python\n{F}\n```", F),  # the first was never closed
        (f"```python\n{F}\n```\n```\n```", F),  # the last that holds anything
        (f"```python\r\n{F}\r\n```".replace("\n", "\r\n").replace("\r\r", "\r"), F),
        (f"\ufeff```python\n\ufeff{F}\n```", F),
        ("```python\n    def f(x):\n        return x\n    ```", F),
        ("```python\n\tdef f(x):\n\t    return x\n```", F),
        (f"<think>```python\nx = 1\n```</think>```python\n{F}\n```", F),
        (f"I think.</think>```python\n{F}\n```", F),
        (f"<think>```python\n{F}\n```", ""),  # a thought without an end
        (f"Sure!\n{F}", F),
        (f"Sure!\nimport math\n{F}", f"import math\n{F}"),
        (f"@cache\n{F}", f"@cache\n{F}"),
        ("async def f(): pass", "async def f(): pass"),
        ("```def f(x): return x```", "def f(x): return x"),
        ("the answer is 4", ""),
        ("", ""),
        ("```python\n```", ""),
        (
            '```python\ndef f():\n    """\n    s = "```py"\n    """\n```',
            'def f():\n    """\n    s = "```py"\n    """',
        ),
        ("```python\nx = 1  # see ```python\n```", "x = 1  # see ```python"),
    ],
)
def test_extract(response: str, program: str) -> None:
    assert extract(response) == program


def test_a_script_needs_no_def_when_the_whole_text_may_be_one() -> None:
    assert extract("print(int(input()) * 2)") == ""
    assert extract("print(int(input()) * 2)", whole=True) == "print(int(input()) * 2)"


@given(st.text(alphabet=st.sampled_from("`~\n\r\t pydef():=#<think>/\ufeff\ud800x"), max_size=200))
def test_any_text_is_taken(text: str) -> None:
    program = extract(text)
    assert "\r" not in program
    assert extract(text) == program


@pytest.mark.parametrize(
    "piece", ["`", "```", "``` ", "~", " ", "\n", "```\n", "<think>", "def ", "\t"]
)
def test_long_responses_take_no_longer_than_they_should(piece: str) -> None:
    begun = time.process_time()
    extract(piece * 100_000 + "!")
    extract("```python\n" + piece * 100_000 + "!")
    assert time.process_time() - begun < 5  # quadratic work would take minutes
