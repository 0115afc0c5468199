"""Looking at rollouts: what is read, what is chosen, and that model text stays text."""

from __future__ import annotations

import asyncio
import gzip
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import rendered
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from textual.widgets import DataTable, Input, Static

from mint_envs.cli import main
from mint_envs.errors import DatasetError, SettingError
from mint_envs.printable import readable
from mint_envs.reports.browser import Browser
from mint_envs.reports.pages import transcripts_page
from mint_envs.reports.plain import render
from mint_envs.reports.surveys import Survey, gather, survey
from mint_envs.reports.transcripts import (
    Rollouts,
    TranscriptFilter,
    chosen,
    load_rollouts,
    parse_span,
    transcript,
)

EVIL = "</script><script>document.title='taken'</script><img src=x onerror=alert(1)>%DATA% [bold]"


def row(number: int, **more: Any) -> dict[str, Any]:
    """One row as a run writes it: two turns of two tokens each."""
    return {
        "step": number // 4 + 1, "seed": number, "problem_id": f"p{number}", "prompt": "Q: 1+1?",
        "response": "two", "turns": ["call", "two"], "observations": ["the tool says 2"],
        "reward": number % 2, "scored": number != 5, "parts": {"answer": 1.0}, "metadata": {},
        "advantage": 0.5 if number % 2 else -0.5, "acts": [[3, 5], [7, 9]],
        "pieces": ["ca", "ll", "t", "wo"], "logprobs": [-0.1, -2.0, -0.5, 0.0], **more,
    }  # fmt: skip


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "a-run"
    folder.mkdir()
    rows = [row(i) for i in range(12)]
    (folder / "rollouts.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (folder / "eval.jsonl").write_text('{"step": 0, "eval/reward": 0.1}\n')
    return folder


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["show", *arguments])


def test_a_run_is_read(run_folder: Path) -> None:
    rollouts = load_rollouts(run_folder)
    assert rollouts.name == "a-run"
    transcripts = list(rollouts.transcripts)
    assert len(transcripts) == 12
    one = transcripts[1]
    assert (one.step, one.reward, one.advantage) == (1, 1.0, 0.5)
    assert one.pieces == ((("ca", -0.1), ("ll", -2.0)), (("t", -0.5), ("wo", 0.0)))
    assert transcripts[5].reward is None  # not measured is not 0
    assert rollouts.evals == ({"step": 0, "eval/reward": 0.1},)


def test_a_run_that_is_still_written_is_read(run_folder: Path) -> None:
    with (run_folder / "rollouts.jsonl").open("a") as file:
        file.write('{"prompt": "half a li')
    assert len(list(load_rollouts(run_folder).transcripts)) == 12


def test_a_file_of_the_least_rows(tmp_path: Path) -> None:
    path = tmp_path / "saved.jsonl.gz"
    with gzip.open(path, "wt") as file:
        file.write(
            '{"prompt": [{"role": "user", "content": "hi"}], "response": "x", "score": 0.5}\n'
        )
        file.write('{"prompt": "hi", "response": "x", "score": null}\n')
    first, second = load_rollouts(path).transcripts
    assert (first.prompt, first.turns, first.reward, first.pieces) == ("user: hi", ("x",), 0.5, ())
    assert second.reward is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"prompt": "hi"}\n', "row 1 of .* no text in 'response'"),
        ('{"prompt": "hi", "response": "x"}\n{"response": "x"}\n', "row 2 of .* no 'prompt'"),
        ('{"prompt": "hi", "turns": [1]}\n', "row 1"),
        ("nonsense\n", "line 1"),
    ],
)
def test_a_broken_row_is_named(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text(content)
    with pytest.raises(DatasetError, match=message):
        list(load_rollouts(path).transcripts)


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=r"no rollouts\.jsonl"):
        load_rollouts(tmp_path)
    with pytest.raises(DatasetError, match="does not exist"):
        load_rollouts(tmp_path / "gone")


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
FIELDS = ("reward", "score", "scored", "step", "seed", "problem_id", "advantage", "parts")
MORE = ("metadata", "observations", "pieces", "logprobs", "acts")


@given(st.fixed_dictionaries({}, optional=dict.fromkeys((*FIELDS, *MORE), JSON)))
def test_odd_fields_are_left_out_or_shown(fields: dict[str, Any]) -> None:
    """A file from elsewhere may mean something else by a name; the text is shown all the same."""
    try:
        one = transcript({"prompt": "p", "response": "the words", **fields}, 1, "f")
    except DatasetError:
        return
    assert one.reward is None or math.isfinite(one.reward)
    assert "the words" in render(one).plain
    transcripts_page(survey(Rollouts("n", (one,)), TranscriptFilter()), (one,))


def test_filters() -> None:
    every = [transcript(row(i), i, "f") for i in range(12)]

    def numbers(wanted: TranscriptFilter) -> list[int]:
        return [one.number for one in chosen(every, wanted)]

    assert numbers(TranscriptFilter(unmeasured=True)) == [5]
    assert numbers(TranscriptFilter(steps=(2, 2))) == [4, 5, 6, 7]
    assert numbers(TranscriptFilter(rewards=(1, 1))) == [1, 3, 7, 9, 11]  # 5 has no reward
    assert numbers(TranscriptFilter(steps=(2, 3), rewards=(0, 0.5))) == [4, 6, 8, 10]
    assert numbers(TranscriptFilter(search="TOOL SAYS")) == list(range(12))
    assert numbers(TranscriptFilter(search="three")) == []


@pytest.mark.parametrize(
    ("text", "span"),
    [("3", (3, 3)), ("0.5:1", (0.5, 1)), (":1", (-math.inf, 1)), ("2:", (2, math.inf))],
)
def test_spans(text: str, span: tuple[float, float]) -> None:
    assert parse_span(text, "--step") == span


@pytest.mark.parametrize("text", ["", ":", "x", "3:1", "1:2:3", "nan"])
def test_what_is_no_span(text: str) -> None:
    with pytest.raises(SettingError, match="--step="):
        parse_span(text, "--step")


@given(st.lists(st.booleans(), max_size=50), st.integers(1, 60))
def test_a_sample_is_spread_evenly(taken: list[bool], most: int) -> None:
    every = tuple(transcript(row(i, reward=int(one)), i, "f") for i, one in enumerate(taken))
    rollouts, wanted = Rollouts("n", every), TranscriptFilter(rewards=(1, 1))
    counted = survey(rollouts, wanted)
    found = [one.number for one in chosen(every, wanted)]
    few = [one.number for one in gather(rollouts, wanted, counted, most)]
    assert (counted.total, counted.found) == (len(taken), len(found))
    most = min(most, len(found))
    assert few == [found[i * len(found) // most] for i in range(most)]


def test_of_very_many_rewards_the_pictures_have_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mint_envs.reports.surveys._MOST_DRAWN", 100)
    counted = Survey("n")
    for i in range(1000):
        counted.add(transcript(row(i, scored=True, reward=i), i, "f"), True)
    kept = counted.rewards
    assert 50 <= len(kept) <= 100
    assert (counted.measured, counted.reward_sum) == (1000, sum(range(1000)))
    assert set(np.diff(kept)) == {16.0}
    assert list(counted.steps) == [i // 4 + 1 for i in kept]


#: Not ``ru_maxrss``: that counts what the parent had in memory when it started the process.
_PEAK = (
    "import re, sys\nfrom mint_envs.cli import main\nsys.argv[0] = 'mint-envs'\ntry:\n"
    "    main()\nfinally:\n"
    "    status = open('/proc/self/status').read()\n"
    "    print(int(re.search(r'VmHWM:\\s*(\\d+)', status)[1]) >> 10, file=sys.stderr)"
)


def shown_within(path: Path, *more: str) -> tuple[int, str, int]:
    """Show a file in a process of its own; return its status, what it said, and its peak in MiB."""
    command = [sys.executable, "-c", _PEAK, "show", str(path), *more]
    done = subprocess.run(command, capture_output=True, text=True)
    said, _, peak = done.stderr.strip().rpartition("\n")
    return done.returncode, done.stdout + said, int(peak)


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Ten thousand long rows, of which 40 MB are read; all of them at once would be more."""
    small, large = tmp_path / "small.jsonl", tmp_path / "large.jsonl.gz"
    lines = [json.dumps(row(i, response="", turns=["call", "x" * 4000])) + "\n" for i in range(8)]
    small.write_text("".join(lines))
    with gzip.open(large, "wt", compresslevel=1) as file:
        for _ in range(1250):
            file.writelines(lines)
    page = str(tmp_path / "page.html")
    _, _, before = shown_within(small, "--html", page)
    status, said, peak = shown_within(large, "--html", page, "--limit", "50")
    assert (status, "50 of 10,000 episodes" in said) == (0, True)
    assert peak < before + 30


@pytest.mark.parametrize(("kind", "count", "more"), [("json", 4000, 40), ("parquet", 8000, 90)])
def test_lists_and_tables_are_read_in_parts(
    tmp_path: Path, kind: str, count: int, more: int
) -> None:
    """60 or 130 MB, and ``more`` MB to read it in: the allocator of tables keeps some.

    Each row is another, so that none is kept once, and a table has one group of rows.
    """
    small, large = tmp_path / f"small.{kind}", tmp_path / f"large.{kind}"
    write_rollouts(small, 8)
    write_rollouts(large, count)
    page = str(tmp_path / "page.html")
    _, _, before = shown_within(small, "--html", page)
    status, said, peak = shown_within(large, "--html", page, "--limit", "50")
    assert (status, f"50 of {count:,} episodes" in said) == (0, True)
    assert peak < before + more


def write_rollouts(path: Path, count: int) -> None:
    """Write rows of 16 kB, a few at a time."""

    def some(first: int) -> list[dict[str, Any]]:
        numbers = range(first, min(first + 100, count))
        turns = {i: [f"{i}", f"{i} " * 3200] for i in numbers}
        return [row(i, response="", turns=turns[i], metadata={"n": i}) for i in numbers]

    parts = (some(first) for first in range(0, count, 100))
    if path.suffix == ".json":
        with path.open("w") as file:
            file.write("[")
            for number, part in enumerate(parts):
                file.write(", " * bool(number) + json.dumps(part)[1:-1])
            file.write("]\n")
        return
    import pyarrow
    from pyarrow import parquet

    tables = [pyarrow.Table.from_pylist(part) for part in parts]
    parquet.write_table(pyarrow.concat_tables(tables), path, row_group_size=count)


def test_a_list_with_an_endless_object_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.json"
    with path.open("w") as file:
        file.write('[{"prompt": "')
        for _ in range(120):
            file.write("x" * (1 << 20))
    status, said, peak = shown_within(path)
    assert (status, "object 1" in said, "more than 32 MiB" in said) == (2, True, True)
    assert peak < 400


def test_an_object_that_is_whole_may_be_too_long_too(tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    path.write_text(json.dumps([{"prompt": "x" * (33 << 20)}]))
    status, said, _ = shown_within(path)
    assert (status, "object 1" in said, "more than 32 MiB" in said) == (2, True, True)


def test_an_endless_line_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "bomb.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(400):
            file.write(b"x" * (1 << 20))
    status, said, peak = shown_within(path)
    assert (status, "line 1" in said, "more than 32 MiB" in said) == (2, True, True)
    assert peak < 300


@given(st.text())
def test_text_steers_no_terminal(text: str) -> None:
    shown = readable(text)
    assert all(sign in "\n\t" or sign.isprintable() or sign.isspace() for sign in shown)
    assert "\x1b" not in shown


def test_plain_text(run_folder: Path) -> None:
    done = call(str(run_folder), "--step", "2", "--limit", "2")
    assert done.exit_code == 0
    assert "2 of 4 episodes" in done.output
    assert "the tool says 2" in done.output
    assert "reward 0 · step 2 · advantage -0.5" in done.output


def test_no_such_episode_says_so(run_folder: Path) -> None:
    done = call(str(run_folder), "--search", "three")
    assert done.exit_code == 2
    assert "none is like that" in done.output
    assert call(str(run_folder), "--step", "x").exit_code == 2


# -- the terminal browser -------------------------------------------------------------------------


def drive(rollouts: Rollouts, *steps: Callable[[Browser], Any] | str) -> None:
    """Press keys (text) and run checks (functions) in the browser."""

    async def play() -> None:
        app = Browser(rollouts, TranscriptFilter())
        async with app.run_test(size=(120, 40)) as pilot:
            for step in steps:
                if isinstance(step, str):
                    await pilot.press(step)
                else:
                    step(app)
                await pilot.pause()

    asyncio.run(play())


def body(app: Browser) -> str:
    return str(app.query_one("#body", Static).render())


def test_the_browser_shows_and_narrows(run_folder: Path) -> None:
    def fill(text: str) -> Callable[[Browser], None]:
        return lambda app: setattr(app.query_one(Input), "value", text)

    def shows(*numbers: int) -> Callable[[Browser], None]:
        def check(app: Browser) -> None:
            assert [one.number for one in app.shown] == list(numbers)
            assert app.query_one(DataTable).row_count == len(numbers)

        return check

    def reads(number: int) -> Callable[[Browser], None]:
        def check(app: Browser) -> None:
            assert f"#{number} " in str(app.query_one("#head", Static).render())
            assert "the tool says 2" in body(app)

        return check

    drive(
        load_rollouts(run_folder), shows(*range(1, 13)), reads(1), "down", reads(2),
        "u", shows(6), "u", "s", fill("2"), "enter", shows(5, 6, 7, 8), reads(5),
        "r", fill("oops"), "enter", shows(5, 6, 7, 8), fill("1"), "enter", shows(8), "a",
        "slash", fill("three"), "enter", shows(), "a", shows(*range(1, 13)),
    )  # fmt: skip


def test_the_browser_reads_hostile_text() -> None:
    text = EVIL + "\x1b[2J [/] [red"
    one = transcript({"prompt": text, "response": text}, 1, "f")

    def check(app: Browser) -> None:
        assert EVIL in body(app)
        assert "\x1b" not in body(app)

    drive(Rollouts("[bold", (one,)), check)


# -- the page ------------------------------------------------------------------------------------


def test_the_page_in_a_real_browser(run_folder: Path, tmp_path: Path) -> None:
    rows = [row(i, turns=["call", EVIL], pieces=[], prompt=EVIL) for i in range(30)]
    with (run_folder / "rollouts.jsonl").open("a") as file:
        file.writelines(json.dumps(r) + "\n" for r in rows)
    path = tmp_path / "page.html"
    assert call(str(run_folder), "--html", str(path)).exit_code == 0
    text = rendered(path)
    assert "<title>a-run</title>" in text  # the program in a response has not run
    assert text.count("<article>") == 25
    assert "25 of 42" in text
    assert "42 episodes, mean reward" in text
    assert len(re.findall(r"<svg\b", text)) == 2
    assert "rgba(var(--good), 0.600)" in text
    assert "not measured" in text
    outside = re.findall(r"(?:src|href)=\"(?!#|data:)[^\"]*", path.read_text())
    assert [link for link in outside if "w3.org" not in link] == []


def test_the_page_narrows_and_colours(run_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    assert call(str(run_folder), "--html", str(path), "--limit", "6").exit_code == 0
    script = "form.low.value = '1'; form.colour.value = 'logprob'; form.oninput()"
    text = rendered(path, script)
    assert "6 of 12 here, evenly spread" in text
    assert "no episode is like that" in text  # every other one of 12 has reward 0
    text = rendered(path, script.replace("low", "high"))
    assert text.count("<article>") == 6
    assert "rgba(var(--odd), 0.735)" in text  # 0.85 * (1 - e^-2)
    assert "probability 13.5 %" in text


@pytest.mark.parametrize("more", [{}, {"step": None}])
def test_a_page_of_rewards_beyond_what_can_be_drawn(more: dict[str, Any]) -> None:
    rewards = [1e308, -1e308, 1e308, 0.5]
    rows = [row(8 * i, reward=value, **more) for i, value in enumerate(rewards)]
    every = tuple(transcript(r, i, "f") for i, r in enumerate(rows))
    text = transcripts_page(survey(Rollouts("far", every), TranscriptFilter()), every)
    assert "1e+308" in text
    assert "<svg" in text


def test_a_terminal_that_cannot_write_all_signs(run_folder: Path) -> None:
    """A locale without UTF-8 gets escapes, not a traceback."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
    script = "from mint_envs.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script, "show", str(run_folder), "--plain"],
        capture_output=True, text=True, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "\\xb7 reward" in done.stdout


def test_the_page_is_written_whole(run_folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "no" / "page.html"
    done = call(str(run_folder), "--html", str(target))
    assert done.exit_code == 2
    assert "cannot write" in done.output
    assert list(tmp_path.iterdir()) == [run_folder]


def test_signs_that_turn_the_text_are_visible_on_a_page(tmp_path: Path) -> None:
    turned = "abc\u202egnihtyna\u202c \u2066x\u2069"
    row = {"prompt": turned, "response": turned, "reward": 1.0, "metadata": {turned: [turned]}}
    (tmp_path / "rollouts.jsonl").write_text(json.dumps(row) + "\n")
    done = CliRunner().invoke(
        main, ["show", str(tmp_path / "rollouts.jsonl"), "--html", str(tmp_path / "page.html")]
    )
    assert done.exit_code == 0, done.output
    page = (tmp_path / "page.html").read_text()
    assert "\u202e" not in page
    assert "abc\\\\u202egnihtyna" in page  # in JSON: the browser shows a backslash
