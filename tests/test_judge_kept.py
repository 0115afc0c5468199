"""Verdicts that are kept, and pairs within a group."""

from __future__ import annotations

import dataclasses
import json
import os
import stat
import threading
from collections.abc import Mapping
from pathlib import Path

import gymnasium as gym
import pytest
from judging import PLAIN, by_length, judged, longer, pairwise

from mint_envs.chat import ChatTask, ScriptedJudge
from mint_envs.errors import SettingError

# -- verdicts kept ------------------------------------------------------------------------------


def test_a_verdict_is_kept(tmp_path: Path) -> None:
    first = ScriptedJudge(by_length)
    second = ScriptedJudge(lambda data: "bad")
    kept = {"judge_choices": "bad, fair, good", "judge_cache": str(tmp_path)}
    assert ChatTask(judge=first, **kept).score(PLAIN, "The Nile.").score == 0.5
    assert ChatTask(judge=second, **kept).score(PLAIN, "The Nile.").score == 0.5
    assert second.asked == []
    other = ScriptedJudge(lambda data: "good", name="another")
    assert ChatTask(judge=other, **kept).score(PLAIN, "The Nile.").score == 1.0
    assert ChatTask(judge=second, rubric="Be strict.", **kept).score(PLAIN, "The Nile.").score == 0
    (entry, *_) = sorted(tmp_path.rglob("*.json"))
    kept_entry = json.loads(entry.read_text())
    assert kept_entry.keys() == {"key", "verdict", "judge", "rubric"}
    assert len(list(tmp_path.rglob("*"))) == len(list(tmp_path.rglob("*.json"))) * 2


def test_an_object_keeps_nothing_unless_told_where() -> None:
    for verdict in ("good", "bad"):
        task = judged(lambda data, verdict=verdict: verdict)
        assert task.score(PLAIN, "The Nile.").score == float(verdict == "good")


def test_verdicts_of_a_service_are_kept_in_the_users_cache_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / name)
    task = ChatTask(judge="http://localhost:9/v1", judge_model="m")
    assert task._judge is not None
    assert task._judge.panel().verdicts.folder == tmp_path / "mint-envs" / "judge"


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"null", b"[]", b"\xff\xfe", b'{"key": "x", "verdict": "good"}', b"[" * 100_000,
     b'{"verdict": "good"}', "another verdict", "a number", "half"],
    ids=str,
)  # fmt: skip
def test_a_corrupt_entry_is_a_miss_and_is_mended(content: bytes | str, tmp_path: Path) -> None:
    task = judged(by_length, judge_cache=str(tmp_path))
    task.score(PLAIN, "The Nile.")
    (entry,) = tmp_path.rglob("*.json")
    whole = entry.read_bytes()
    if isinstance(content, str):
        values = {"another verdict": b'"splendid"', "a number": b"0"}
        content = whole.replace(b'"fair"', values.get(content, b"")) if content in values \
            else whole[: len(whole) // 2]  # fmt: skip
    entry.write_bytes(content)
    assert task.score(PLAIN, "The Nile.").score == 0.5
    assert entry.read_bytes() == whole


@pytest.mark.parametrize("kind", ["a pipe", "a device", "a file without end"])
def test_an_entry_that_is_no_entry_is_a_miss(kind: str, tmp_path: Path) -> None:
    task = judged(by_length, judge_cache=str(tmp_path))
    task.score(PLAIN, "The Nile.")
    (entry,) = tmp_path.rglob("*.json")
    whole = entry.read_bytes()
    entry.unlink()
    if kind == "a pipe":
        os.mkfifo(entry)
    elif kind == "a device":
        entry.symlink_to("/dev/zero")
    else:
        with entry.open("wb") as file:
            file.write(whole)
            file.truncate(1 << 40)
    found: list[float | None] = []
    asking = threading.Thread(
        target=lambda: found.append(task.score(PLAIN, "The Nile.").score), daemon=True
    )
    asking.start()
    asking.join(30)  # whoever opens a pipe that nobody writes to waits for ever
    assert found == [0.5]
    assert entry.read_bytes() == whole


def test_an_entry_that_is_a_folder(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing can be written there, which costs the memory and not the verdict."""
    task = judged(by_length, judge_cache=str(tmp_path))
    task.score(PLAIN, "The Nile.")
    (entry,) = tmp_path.rglob("*.json")
    entry.unlink()
    (entry / "in the way").mkdir(parents=True)
    for _ in range(3):
        assert task.score(PLAIN, "The Nile.").score == 0.5
    assert len(caplog.records) == 1
    assert "cannot be kept" in caplog.text
    assert [path.name for path in entry.parent.iterdir()] == [entry.name]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingError, match="judge_cache"):
        judged(by_length, judge_cache=str(tmp_path / "file" / "cache"))


def test_entries_are_readable_by_the_group_that_shares_the_folder(tmp_path: Path) -> None:
    judged(by_length, judge_cache=str(tmp_path)).score(PLAIN, "The Nile.")
    (entry,) = tmp_path.rglob("*.json")
    reference = tmp_path / "plain"
    reference.write_text("")
    assert stat.S_IMODE(entry.stat().st_mode) == stat.S_IMODE(reference.stat().st_mode)


# -- pairs --------------------------------------------------------------------------------------


def scores(task: ChatTask, *texts: str) -> list[float | None]:
    return [reward.score for reward in task.score_batch([(PLAIN, text) for text in texts])]


def test_a_group_is_ranked_by_its_comparisons() -> None:
    task = pairwise(longer)
    assert scores(task, "a", "abc", "ab", "xyz") == [0.0, 2.5 / 3, 1 / 3, 2.5 / 3]
    notes = [r.metadata["verdict"] for r in task.score_batch([(PLAIN, t) for t in ("a", "ab")])]
    assert notes == ["0 won, 0 tied, 1 lost", "1 won, 0 tied, 0 lost"]


@pytest.mark.parametrize("always", ["first", "second", "tie"])
def test_a_judge_that_goes_by_the_order_makes_ties(always: str) -> None:
    assert scores(pairwise(lambda data: always), "one", "two", "three") == [0.5] * 3


def test_a_tie_in_one_order_and_a_win_in_the_other_is_a_tie() -> None:
    rule = lambda data: "first" if data["first"] == "one" else "tie"  # noqa: E731
    assert scores(pairwise(rule), "one", "two") == [0.5, 0.5]


def test_every_pair_is_asked_in_both_orders_once() -> None:
    judge = ScriptedJudge(longer)
    task = ChatTask(judge=judge, judge_mode="pairwise")
    scores(task, "a", "ab", "ab", "abc", " ")
    asked = [(data["first"], data["second"]) for data in judge.asked]
    texts = ("a", "ab", "abc")
    assert sorted(asked) == sorted((x, y) for x in texts for y in texts if x != y)


def test_what_a_gate_stops_loses_without_a_question() -> None:
    judge = ScriptedJudge(longer)
    assert scores(ChatTask(judge=judge, judge_mode="pairwise"), "...", "Nile", "?") == [
        0.0,
        1.0,
        0.0,
    ]
    assert judge.asked == []


def test_a_comparison_without_a_verdict_leaves_both_unmeasured() -> None:
    rule = lambda data: None if {"a", "b"} == {data["first"], data["second"]} else longer(data)  # noqa: E731
    assert scores(pairwise(rule), "a", "b", "long") == [None, None, 1.0]


def test_an_answer_that_no_judge_will_speak_of_takes_no_other_along() -> None:
    """A policy that provokes refusals would wipe out the groups that it loses."""

    def refuses(data: Mapping[str, str]) -> str | None:
        return None if "poison" in data["first"] + data["second"] else longer(data)

    task = pairwise(refuses)
    assert scores(task, "poison", "b", "long") == [None, 0.0, 1.0]
    assert scores(task, "poison 1", "a", "poison 22", "bb", "long") == [None, 0.0, None, 0.5, 1.0]
    assert scores(task, "poison 1", "poison 22") == [None, None]
    two = scores(task, "poison", "...", "long")  # of two that fail together nobody knows which
    assert two == [None, 0.0, None]


def test_groups_do_not_mix() -> None:
    other = dataclasses.replace(PLAIN, prompt="Name a hill.", request="Name a hill.")
    pairs = [(PLAIN, "a"), (other, "abc"), (PLAIN, "ab"), (other, "abcd")]
    assert [r.score for r in pairwise(longer).score_batch(pairs)] == [0.0, 0.0, 1.0, 1.0]


def test_a_lone_answer_is_compared_with_the_reference_or_not_measured() -> None:
    task = pairwise(longer)
    known = dataclasses.replace(PLAIN, answer="The Nile.")
    assert task.score(known, "The river Nile.").score == 1.0
    assert task.score(known, "Po.").score == 0.0
    assert task.score(known, "The Nile.").score == 0.5
    assert task.score(known, "").score == 0.0
    lone = task.score(PLAIN, "The Nile.")
    assert lone.score is None
    assert "no other answer" in lone.metadata["error"]


def test_a_group_reaches_the_judge_through_the_vector_environment() -> None:
    judge = ScriptedJudge(longer)
    envs = gym.make_vec(
        "mint/Chat-v0", num_envs=6, judge=judge, judge_mode="pairwise", level="easy"
    )
    envs.reset(seed=[5, 5, 5, 9, 9, 9])
    problems = [env.problem for env in envs.unwrapped.envs]  # type: ignore[attr-defined]
    texts = [problem.answer + " It is so." * (i % 3) for i, problem in enumerate(problems)]
    _, rewards, terminated, _, infos = envs.step([[*text.encode(), 258] for text in texts])
    assert terminated.all()
    assert list(rewards) == [0.0, 0.5, 1.0] * 2
    assert infos["scored"].all()
    assert len(judge.asked) == 12
