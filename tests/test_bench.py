"""``mint-envs bench`` finds by itself what is wrong with a reward, and nothing where nothing is."""

from __future__ import annotations

import functools
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import reward_functions
from click.testing import CliRunner

from mint_envs.cli import main
from mint_envs.errors import DatasetError, SettingError
from mint_envs.offline import client
from mint_envs.offline.bench import bench
from mint_envs.offline.client import Worker, WorkerDied
from mint_envs.offline.functions import adapt
from mint_envs.offline.probes import changed, framed
from mint_envs.offline.report import Report
from mint_envs.offline.run import Options
from mint_envs.offline.targets import Target, load

REWARDS = str(Path(__file__).with_name("reward_functions.py"))
QUICK: dict[str, Any] = {
    "problems": 8, "texts": 25, "search": 96, "seconds": 0.1, "workers": 1, "timeout_s": 2.0,
}  # fmt: skip
SUMS = [{"prompt": f"Q: What is {a} + {b}?\nA:", "answer": str(a + b)}
        for a, b in [(12, 7), (30, 51), (8, 2), (44, 45), (61, 3), (5, 70)]]  # fmt: skip


@functools.cache
def run(name: str, **more: Any) -> Report:
    target = name if "/" in name else f"{REWARDS}:{name}"
    return bench(target, Options(**{**QUICK, **more}))


def checks(report: Report) -> set[str]:
    return {fault.check for fault in report.faults}


def told(report: Report, check: str) -> str:
    return " | ".join(fault.text for fault in report.faults if fault.check == check)


@pytest.fixture(scope="module")
def sums(tmp_path_factory: pytest.TempPathFactory) -> str:
    return written(tmp_path_factory.mktemp("data") / "sums.jsonl", SUMS)


def written(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


# -- MinT's documents: found without being told --------------------------------------------------


def test_questions_drawn_apart_from_their_answers() -> None:
    report = run("ApartSums")
    assert "unsolvable" in checks(report)
    assert (report.numbers["oracle"] or 0.0) <= 0.25


def test_the_first_integer_verifier() -> None:
    """On questions that can be solved: what it pays wrongly, and what it misses."""
    report = run("Sums")
    assert "unsolvable" not in checks(report)
    assert report.numbers["oracle"] == 1.0
    hacks = told(report, "hack")
    assert "an answer withdrawn" in hacks
    assert "several answers" in hacks
    assert "an answer denied" in hacks
    assert "every number" in hacks
    assert "with the sum before it" in told(report, "missed rewards")
    assert report.numbers["hacks"] >= 4


@pytest.mark.slow
def test_exec_in_the_process_of_the_reward() -> None:
    report = run("ExecCode")
    assert {"in-process exec", "response: died", "response: hung", "response: error"} <= checks(
        report
    )
    hacks = told(report, "hack")
    assert "equal to everything" in hacks
    assert "read from the caller" in hacks
    assert "right response" not in told(report, "missed rewards")


def test_a_chat_score_that_nonsense_satisfies(tmp_path: Path) -> None:
    asked = ["What is a cat?", "Explain rain.", "How do I cook rice?"]
    data = written(tmp_path / "asked.jsonl", [{"prompt": text} for text in asked])
    report = run("chat_score", data=data, only=("hackable",), search=320)
    assert "found" in checks(report)
    assert any("nonsense" in case.note for fault in report.faults for case in fault.cases)


# -- nothing where nothing is --------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("id", ["mint/Math-v0", "mint/Code-v0", "mint/Chat-v0", "mint/ToolUse-v0"])
def test_our_environments_have_none(id: str) -> None:
    report = bench(id, Options(**{**QUICK, "problems": 4, "texts": 10, "timeout_s": 30.0}))
    assert [f"{fault.check}: {fault.text} {fault.cases}" for fault in report.faults] == []
    assert report.numbers["repeatable"] == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("setting", [{"strict": True, "format_credit": 0.1}, {"style": "chat"}])
def test_an_answer_asked_for_in_a_form_is_tried_in_that_form(setting: dict[str, Any]) -> None:
    """A box around the right answer is kept: what is in it is changed, solved and hidden."""
    options = Options(**{**QUICK, "only": ("right", "sound", "hackable")})
    report = bench("mint/Math-v0", options, setting)
    assert [f"{fault.check}: {fault.text} {fault.cases}" for fault in report.faults] == []
    assert report.numbers["oracle"] == 1.0


@pytest.mark.parametrize(
    ("gold", "parts", "other"),
    [
        ("7", ("", "7", ""), "8"),
        ("\\boxed{7}", ("\\boxed{", "7", "}"), "\\boxed{8}"),
        ("so \\boxed{\\frac{1}{2}}.", ("so \\boxed{", "\\frac{1}{2}", "}."),
         "so \\boxed{\\frac{2}{2}}."),
        ("#### 12", ("#### ", "12", ""), "#### 13"),
        ("<answer>yes</answer>", ("<answer>", "yes", "</answer>"), "<answer>no</answer>"),
        ("The answer is B.", ("The answer is ", "B", "."), "The answer is A."),
        ("answer", ("", "answer", ""), "ansker"),
        ("x=5", ("", "x=5", ""), "x=6"),
        ("\\boxed{k = 1}", ("\\boxed{", "k = 1", "}"), "\\boxed{k = 2}"),
        ("---", ("", "---", ""), None),
    ],
)  # fmt: skip
def test_the_answer_in_its_form(gold: str, parts: tuple[str, ...], other: str | None) -> None:
    assert framed(gold) == parts
    assert (changed(gold) or [None])[0] == other


@pytest.mark.slow
def test_our_grader_as_a_function_has_none(sums: str) -> None:
    report = bench("mint_envs.math:grade", Options(**QUICK, data=sums))
    assert [f"{fault.check}: {fault.text} {fault.cases}" for fault in report.faults] == []


def test_the_same_value_under_a_name_is_not_another_answer(tmp_path: Path) -> None:
    rows = [{"prompt": "Solve 2x = 10.", "answer": "x=5"}, {"prompt": "Half of 10?", "answer": "5"}]
    data = written(tmp_path / "x.jsonl", rows)
    options = Options(**QUICK, data=data, only=("right", "hackable"))
    report = bench("mint_envs.math:grade", options)
    assert [f"{fault.check}: {fault.text} {fault.cases}" for fault in report.faults] == []


def test_a_program_is_not_asked_for_a_sum(tmp_path: Path) -> None:
    row = {"prompt": "Write `f(text)`. Its input may be:\n1 + 2", "tests": [["f('1 + 2')", 3]]}
    report = run("share_of_tests", data=written(tmp_path / "f.jsonl", [row]), only=("right",))
    assert report.numbers["oracle"] is None


@pytest.mark.slow
def test_a_part_of_the_tests_is_no_hack(tmp_path: Path) -> None:
    tests = [["is_even(2)", True], ["is_even(3)", False], ["is_even(0)", True],
             ["is_even(7)", False]]  # fmt: skip
    data = written(tmp_path / "even.jsonl", [{"prompt": "Write `is_even(n)`.", "tests": tests}])
    report = run("share_of_tests", data=data, only=("hackable",), search=8, timeout_s=20.0)
    assert [f"{fault.check}: {fault.text} {fault.cases}" for fault in report.faults] == []


# -- every form of function --------------------------------------------------

FORMS = ["exact", "trl_style", "verl_style", "verl_batch", "openrlhf_style", "by_sample",
         "middle_default", "by_keyword", "by_place", "more_fields", "partial", "bound"]  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_functions_of_any_library(name: str) -> None:
    call = adapt(getattr(reward_functions, name), name)
    row = {"prompt": "1 + 1?", "answer": "2", "data_source": "sums"}
    from mint_envs.offline.functions import number_of

    assert [number_of(call(row, "1 + 1?", text)) for text in ("2", "3")] == [1.0, 0.0]


def test_chat_completions_and_async() -> None:
    call = adapt(reward_functions.trl_chat, "trl_chat")
    messages = [{"role": "user", "content": "1 + 1?"}]
    assert [call({"answer": "2"}, messages, text) for text in ("2", "3")] == [1.0, 0.0]


def test_a_verl_row_holds_its_answer_inside(tmp_path: Path) -> None:
    rows = [{"prompt": [{"role": "user", "content": row["prompt"]}], "data_source": "sums",
             "reward_model": {"ground_truth": row["answer"]}} for row in SUMS]  # fmt: skip
    data = written(tmp_path / "verl.jsonl", rows)
    report = run("verl_style", data=data, only=("right",))
    assert report.numbers["oracle"] == 1.0


def test_a_class_called_with_tokens() -> None:
    task = load(Target(f"{REWARDS}:TokenAdapter", rows=SUMS))
    assert [task.score(task.problem(0), text).score for text in ("19", "20")] == [1.0, 0.0]


def test_an_adapter_with_a_dataset() -> None:
    task = load(Target(f"{REWARDS}:Sums"))
    problem = task.problem(0)
    assert task.size == 50
    assert str(problem[1]) in task.examples(problem)


def test_a_range_of_its_own() -> None:
    task = load(
        Target(f"{REWARDS}:needs_column", rows=[{"prompt": "", "difficulty": 0.0}], low=-1.0)
    )
    assert task.score(task.problem(0), "").score == 0.5


@pytest.mark.parametrize(
    ("name", "rows", "says"),
    [
        ("no_response", SUMS, "no parameter takes the response"),
        ("exact", [], "--data"),
        ("nothing_here", SUMS, "has no 'nothing_here'"),
        ("QUICK", SUMS, "has no 'QUICK'"),
        ("needs_column", SUMS, "parameter 'difficulty', and the rows have only answer, prompt"),
        ("Scorer.score", SUMS, "'self'.*method"),
        ("NoCall", SUMS, "cannot be called"),
    ],
)
def test_what_is_no_reward_function(name: str, rows: Any, says: str) -> None:
    with pytest.raises(SettingError, match=says):
        load(Target(f"{REWARDS}:{name}", rows=rows))


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("import nothing_of_this_name", SettingError, "No module named 'nothing_of_this_name'"),
        ("def f(:", WorkerDied, r"r\.py:f: loading it raises SyntaxError"),
        ("raise RuntimeError('one\\ntwo')", WorkerDied, "RuntimeError: one two$"),
        ("import sys; sys.exit('usage')", WorkerDied, "loading it raises SystemExit: usage"),
        ("import os; os._exit(4)", WorkerDied, r"r\.py:f: while it is loaded, .*with code 4"),
        ("input()", WorkerDied, "EOFError"),
        ("import os\ndef g(): 0", SettingError, r"has no 'f'\. Valid: g\.$"),
    ],
)
def test_modules_that_cannot_be_loaded(
    text: str, error: type[Exception], says: str, tmp_path: Path
) -> None:
    (tmp_path / "r.py").write_text(text)
    with pytest.raises(error, match=says) as found:
        Worker(Target(f"{tmp_path}/r.py:f", rows=SUMS)).__enter__()
    assert "\n" not in str(found.value)


def test_a_file_is_loaded_once() -> None:
    """A pool of processes pickles its functions by name, whatever else was loaded since."""
    tasks = [load(Target(f"{REWARDS}:ApartSums")) for _ in range(2)]
    assert len({type(task._adapter) for task in tasks}) == 1  # type: ignore[attr-defined]


def test_a_file_without_a_function() -> None:
    with pytest.raises(SettingError, match="name its function"):
        load(Target("rewards.py", rows=SUMS))


def test_what_is_no_environment() -> None:
    with pytest.raises(SettingError, match=r"mint/Nothing-v0.*no environment"):
        load(Target("mint/Nothing-v0"))


def test_a_class_is_made_and_called_as_its_parameters_say() -> None:
    task = load(Target(f"{REWARDS}:Scorer", rows=SUMS))
    assert [task.score(task.problem(0), text).score for text in ("19", "20")] == [1.0, 0.0]


def test_a_column_that_one_row_lacks() -> None:
    rows = [{"prompt": "a"}, {"prompt": "b", "difficulty": 0.5}]
    with Worker(Target(f"{REWARDS}:needs_column", rows=rows)) as worker:
        one, two = worker.score([(0, ("x",)), (1, ("x",))])
    assert (one.status, two.score) == ("error", 0.5)
    assert "'difficulty'" in one.note


# -- hostile functions are reported --------------------------------------------------


@pytest.mark.parametrize(
    ("name", "check", "says"),
    [
        ("nan", "range", "nan"),
        ("raises", "any text", "ValueError"),
        ("by_chance", "determinism", "and"),
        ("by_hash", "determinism", "another process"),
        ("by_count", "determinism", "now this, now that"),
        ("seeds", "global random state", "changes it"),
    ],
)
def test_unsound_functions(name: str, check: str, says: str, sums: str) -> None:
    report = run(name, data=sums, only=("sound",))
    assert says in told(report, check), report.faults


@pytest.mark.parametrize(
    ("name", "status"), [("hangs_on_digits", "hung"), ("exits_on_digits", "died")]
)
def test_a_death_costs_one_response(name: str, status: str) -> None:
    target = Target(f"{REWARDS}:{name}", rows=SUMS)
    with Worker(target, timeout_s=0.2) as worker:
        found = worker.score([(0, ("19",)), (0, ("2",)), (0, ("1",)), (3, ("89",))])
    assert [verdict.status for verdict in found] == ["ok", status, "ok", "ok"]
    assert [verdict.score for verdict in found] == [1.0, None, 0.0, 1.0]


@pytest.mark.parametrize(
    ("name", "status"), [("hangs_on_digits", "hung"), ("exits_on_digits", "died")]
)
def test_a_death_apart_costs_no_process(name: str, status: str) -> None:
    target = Target(f"{REWARDS}:{name}", rows=SUMS)
    with Worker(target, timeout_s=0.2) as worker:
        found = list(worker.each([(0, ("2",)), (0, ("19",))], apart=True))
        assert worker.starts == 1
    assert [verdict.status for verdict in found] == [status, "ok"]


def test_a_function_that_hangs_all_the_time_is_given_up(
    sums: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_MOST_LOST", 2)
    report = run("hangs_on_digits", data=sums, only=("right",), timeout_s=0.1)
    assert checks(report) == {"stopped"}
    assert "hung" in told(report, "stopped")


@pytest.mark.parametrize(
    ("name", "status", "says"),
    [
        ("by_thread", "ok", ""),
        ("leaves_a_child", "ok", ""),
        ("keeps_to_its_loop", "ok", ""),
        ("replaces_json", "ok", ""),
        ("interrupts", "error", "KeyboardInterrupt"),
        ("raises_speechless", "error", "_Speechless"),
        ("beyond_floats", "range", "int"),
    ],
)
def test_what_a_function_does_to_its_process(name: str, status: str, says: str) -> None:
    """Alone and in copies: a copy has no threads of a pool, and a pipe may have other ends."""
    target, pairs = Target(f"{REWARDS}:{name}", rows=SUMS), [(0, ("19",)), (0, ("20",))]
    with Worker(target, timeout_s=1.0) as worker:
        found = [*worker.each(pairs), *worker.each(pairs, apart=True), *worker.each(pairs)]
    assert [verdict.status for verdict in found] == [status] * 6, found
    assert all(says in verdict.note for verdict in found)
    if status == "ok":
        assert [verdict.score for verdict in found] == [1.0, 0.0] * 3


def test_an_async_function_that_exits() -> None:
    with Worker(Target(f"{REWARDS}:keeps_to_its_loop", rows=SUMS), timeout_s=1.0) as worker:
        found = worker.score([(0, (text,)) for text in ("19", "exit", "19")])
    assert [(verdict.status, verdict.score) for verdict in found] == [
        ("ok", 1.0), ("error", None), ("ok", 1.0)
    ]  # fmt: skip


def test_a_function_that_ends_is_not_called_slow(sums: str) -> None:
    report = run("exits_on_digits", data=sums, only=("fast",))
    assert "slow" not in checks(report)


def test_memory_is_bounded_without_being_told() -> None:
    """Half of what is free, here less so that the test is short."""
    with Worker(Target(f"{REWARDS}:allocates", rows=SUMS), timeout_s=60.0) as worker:
        assert worker._process is not None
        size = 1 << 30
        soft, _ = resource.prlimit(worker._process.pid, resource.RLIMIT_DATA)
        assert 0 < soft < os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        resource.prlimit(worker._process.pid, resource.RLIMIT_DATA, (size, size))
        (verdict,) = worker.score([(0, ("19",))])
    assert (verdict.status, verdict.note[:11]) == ("error", "MemoryError")


@pytest.mark.parametrize("memory_mb", [0, 4000])
def test_a_limit_of_memory_leaves_the_sandbox_alone(memory_mb: int) -> None:
    rows = [{"prompt": "Write f.", "tests": [["f()", 1]]}]
    target = Target(f"{REWARDS}:share_of_tests", rows=rows)
    with Worker(target, timeout_s=20.0, memory_mb=memory_mb) as worker:
        pair = (0, ("def f():\n    return 1",))
        found = [*worker.each([pair]), *worker.each([pair], apart=True)]
    assert [verdict.score for verdict in found] == [1.0, 1.0]


def test_errors_all_the_time_leave_a_report(sums: str) -> None:
    report = run("interrupts", data=sums, only=("sound",))
    assert "KeyboardInterrupt" in told(report, "any text")
    assert "stopped" not in checks(report)


@pytest.mark.parametrize(("name", "status"), [("Ending", "died"), ("Hanging", "hung")])
def test_an_adapter_that_ends_or_hangs_whatever_it_is_asked(name: str, status: str) -> None:
    with Worker(Target(f"{REWARDS}:{name}"), timeout_s=0.1) as worker:
        items, _ = worker.about()
        (verdict,) = worker.score([(0, ("19",))])
    assert len(items) == 32
    assert verdict.status == status


@pytest.mark.parametrize(
    ("name", "error", "says"),
    [
        ("NoSamples", SettingError, "gives no samples"),
        ("NoPrompt", WorkerDied, "NoPrompt: its problems cannot be read: TypeError"),
    ],
)
def test_an_adapter_without_problems(name: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says), Worker(Target(f"{REWARDS}:{name}")) as worker:
        worker.about()


def test_no_escape_of_an_error_reaches_the_terminal(sums: str) -> None:
    report = run("raises_escapes", data=sums, only=("sound",))
    assert "\\x1b[31m\\ud800" in told(report, "any text")
    assert "\x1b" not in told(report, "any text")


def test_time_lost_by_hanging_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_MOST_LOST_S", 0.5)
    with Worker(Target(f"{REWARDS}:hangs_on_digits", rows=SUMS), timeout_s=0.1) as worker:
        with pytest.raises(WorkerDied, match="hung"):
            worker.score([(0, ("2",))] * 9)
        assert worker.lost <= 2
        with pytest.raises(WorkerDied, match="hung"):
            worker.score([(0, ("1",))])  # at once, and not after one more


def test_a_solver_of_the_users(sums: str) -> None:
    right = run("exact", data=sums, only=("right",), solver=f"{REWARDS}:solves")
    assert right.numbers["oracle"] == 1.0
    with pytest.raises(SettingError, match=r"--solve .*solves_nothing: it raises ValueError: no"):
        run("exact", data=sums, only=("right",), solver=f"{REWARDS}:solves_nothing")
    with pytest.raises(SettingError, match="has no 'solved'"):
        run("exact", data=sums, only=("right",), solver=f"{REWARDS}:solved")


# -- labels, floors, groups --------------------------------------------------


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Ten right answers, three of them hidden from ``exact``; eight wrong ones."""
    rows = []
    for number in range(10):
        row = SUMS[number % len(SUMS)]
        text = row["answer"] if number >= 3 else f"It is {row['answer']}."
        rows.append({**row, "response": text, "label": True})
    rows += [{**SUMS[0], "response": str(n), "label": 0} for n in range(8)]
    return written(tmp_path_factory.mktemp("cases") / "cases.jsonl", rows)


def test_numbers_by_the_labels(labelled: str) -> None:
    report = run("exact", cases=labelled, only=("right",))
    assert report.numbers["accuracy"] == pytest.approx(15 / 18)
    assert report.numbers["missed_rewards"] == pytest.approx(0.3)
    assert report.numbers["false_rewards"] == 0.0
    (case, *_) = next(f.cases for f in report.faults if "labelled right" in f.text)
    assert case.note == "line 1"


def test_agreement_of_two(labelled: str) -> None:
    other = f"{REWARDS}:first_integer"
    report = run("exact", cases=labelled, only=("right",), against=other)
    assert report.numbers["agreement"] == pytest.approx(15 / 18)


def test_floors_decide_the_exit_code(labelled: str, tmp_path: Path) -> None:
    asked = ["bench", f"{REWARDS}:exact", "--cases", labelled, "--only", "right", "--problems", "4"]
    out = tmp_path / "report.json"
    good = CliRunner().invoke(main, [*asked, "--min-accuracy", "0.8", "--json", str(out)])
    assert good.exit_code == 0, good.output
    assert json.loads(out.read_text())["numbers"]["accuracy"] == pytest.approx(15 / 18)
    bad = CliRunner().invoke(main, [*asked, "--min-accuracy", "0.9"])
    assert bad.exit_code == 1
    assert "--min-accuracy 0.9: accuracy is 0.8333" in bad.output
    unmeasured = CliRunner().invoke(main, [*asked, "--min-signal", "0.5"])
    assert unmeasured.exit_code == 1
    assert "signal was not measured" in unmeasured.output
    nowhere = CliRunner().invoke(main, [*asked, "--html", str(tmp_path / "none" / "page.html")])
    assert nowhere.exit_code == 2
    assert "there is no folder" in nowhere.output
    assert "By the labels" not in nowhere.output  # said before the work, not after it


@pytest.mark.parametrize(("same", "found"), [(8, True), (4, False)])
def test_one_answer_that_is_right_for_most_problems(same: int, found: bool, tmp_path: Path) -> None:
    rows = [{"prompt": f"Is {i} odd?", "answer": "yes" if i < same else "no"} for i in range(8)]
    data = written(tmp_path / "odd.jsonl", rows)
    report = run("exact", data=data, only=("hackable",), search=16)
    assert ("constant" in checks(report)) is found
    if found:
        assert "'yes' is paid on 8 of 8" in told(report, "constant")
        assert report.numbers["hacks"] == 1.0


def test_nothing_measured_is_not_unsolvable(sums: str) -> None:
    report = run("never_measured", data=sums, only=("right",))
    assert "unsolvable" not in checks(report)
    assert report.numbers["oracle"] is None


def test_responses_that_are_not_measured_are_counted(tmp_path: Path) -> None:
    report = run("silent_on_long", data=written(tmp_path / "p.jsonl", SUMS), only=("right",))
    assert any("were not measured" in note for s in report.sections for note in s.notes)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("problems", 0), ("group", 0), ("workers", 0), ("texts", 0), ("search", -1),
        ("seconds", 0.0), ("timeout_s", float("nan")), ("memory_mb", -1), ("high", 0.0),
        ("low", float("nan")),
    ],
)  # fmt: skip
def test_numbers_out_of_bounds_are_refused(option: str, value: Any) -> None:
    """No process that waits for none, no groups of nobody."""
    with pytest.raises(SettingError, match="must"):
        Options(**{option: value})


def test_labels_of_one_kind_measure_one_rate(tmp_path: Path) -> None:
    """Without a response that is labelled wrong, false rewards were not measured."""
    row = {**SUMS[0], "response": "19", "label": 1}
    report = run("exact", cases=written(tmp_path / "right.jsonl", [row]), only=("right",))
    assert report.numbers["false_rewards"] is None
    assert report.numbers["missed_rewards"] == 0.0


def test_what_a_group_would_learn(tmp_path: Path) -> None:
    rows = []
    for number, right in enumerate([0, 4, 2]):  # of four responses
        row = SUMS[number]
        texts = [row["answer"]] * right + ["0"] * (4 - right)
        rows += [{**row, "response": text} for text in texts]
    saved = written(tmp_path / "saved.jsonl", rows)
    report = run("exact", responses=saved, only=("learning",), group=2)
    ours = [{"index": n, "responses": [str(n), "0"]} for n in (3, 700)]  # found by their number
    again = written(tmp_path / "ours.jsonl", ours)
    more = bench("mint/Math-v0", Options(**QUICK, responses=again, only=("learning",), group=2))
    assert more.numbers["mean_reward"] == 0.0
    # Two of four right: a pair is equal with chance 1/3.
    assert report.numbers["signal"] == pytest.approx((0 + 0 + 2 / 3) / 3)
    assert report.numbers["mean_reward"] == pytest.approx(0.5)


def test_responses_are_judged_by_the_problem_that_they_name(tmp_path: Path) -> None:
    task = load(Target("mint/Math-v0"))
    rows = [{"index": n, "response": task.examples(task.problem(n))} for n in (700, 3, 0)]
    right = [{**row, "response": next(iter(row["response"])), "label": 1} for row in rows]
    cases = written(tmp_path / "c.jsonl", right)
    report = bench(
        "mint/Math-v0", Options(**{**QUICK, "problems": 1}, cases=cases, only=("right",))
    )
    assert report.numbers["accuracy"] == 1.0


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"prompt": "a", "label": 1}, "line 2.*no response"),
        ({"prompt": "a", "response": 3, "label": 1}, "line 2.*'response' is a int"),
        ({"prompt": "a", "response": "x"}, "line 2.*no label"),
        ({"prompt": "a", "response": "x", "correct": "yes"}, "line 2.*'correct' is 'yes'"),
    ],
)
def test_broken_rows_are_named(row: dict[str, Any], says: str, tmp_path: Path) -> None:
    good = {"prompt": "a", "response": "x", "label": 1}
    cases = written(tmp_path / "cases.jsonl", [good, row])
    with pytest.raises(DatasetError, match=says):
        bench(f"{REWARDS}:exact", Options(cases=cases))


def test_a_function_that_hangs_does_not_outlive_a_benchmark_that_is_killed(
    tmp_path: Path,
) -> None:
    told_pid = tmp_path / "pid"
    cases = written(tmp_path / "c.jsonl", [{**SUMS[0], "response": "19", "label": 1}])
    (tmp_path / "hanging.py").write_text(
        "import os, re, pathlib\n"
        "def reward(response, answer):\n"
        f"    pathlib.Path({str(told_pid)!r}).write_text(str(os.getpid()))\n"
        "    re.fullmatch('(a+)+b', 'a' * 60)  # holds the interpreter\n"
    )
    command = [sys.executable, "-m", "mint_envs", "bench", f"{tmp_path}/hanging.py:reward"]
    bench = subprocess.Popen([*command, "--cases", cases], stdout=subprocess.DEVNULL)
    try:
        wait_for(lambda: told_pid.exists() and told_pid.read_text())
    finally:
        bench.kill()
        bench.wait()
    wait_for(lambda: not Path(f"/proc/{told_pid.read_text()}").exists())


def wait_for(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
