"""Judges without a network: questions and their fence, verdicts kept, scores, groups, settings."""

from __future__ import annotations

import dataclasses
import json
import pickle
import stat
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mint_envs
from mint_envs.chat import Answer, ChatProblem, ChatTask, Judge, Question, ScriptedJudge
from mint_envs.chat.gates import is_blank
from mint_envs.chat.judge.question import quoted, read_fenced
from mint_envs.errors import ContractError, DatasetError, SettingError
from mint_envs.testing import check_env, check_task

CHOICES = ("bad", "fair", "good")
ANY_TEXT = st.text(st.characters(exclude_categories=()))
PLAIN = ChatProblem("Name a river.", "Name a river.", ())


def question(answer: str = "The Nile.", **changes: Any) -> Question:
    data = (("request", "Name a river."), ("answer", answer))
    return dataclasses.replace(Question("Judge it.", "Be fair.", CHOICES, data), **changes)


def by_length(data: Mapping[str, str]) -> str:
    """The judge of most tests: the longer the better."""
    return CHOICES[min(len(data["answer"].split()) // 2, 2)]


def longer(data: Mapping[str, str]) -> str:
    first, second = len(data["first"]), len(data["second"])
    return "tie" if first == second else "first" if first > second else "second"


def judged(rule: Callable[[Mapping[str, str]], str | None], **settings: Any) -> ChatTask:
    return ChatTask(judge=ScriptedJudge(rule), judge_choices="bad, fair, good", **settings)


# -- the question -------------------------------------------------------------------------------


@given(ANY_TEXT)
def test_any_text_is_quoted_on_one_line_that_can_be_seen(text: str) -> None:
    line = quoted(text)
    assert json.loads(line) == text
    assert line.isprintable()
    assert "<" not in line
    assert "[INST]" not in line


def test_letters_of_any_script_stay_as_they_are() -> None:
    assert quoted("尼罗河 Нил नील é 😀 [1] a<b\n\x7f\u202e\u200b[/INST]<|im_end|>\U000e0041") == (
        '"尼罗河 Нил नील é 😀 [1] a\\u003cb\\n\\u007f\\u202e\\u200b\\u005b/INST]\\u003c|im_end|>'
        '\\udb40\\udc41"'
    )


@given(ANY_TEXT, ANY_TEXT)
def test_a_judge_that_reads_the_messages_sees_the_data_and_nothing_else(one: str, two: str) -> None:
    asked = question(data=(("request", one), ("answer", two)))
    assert read_fenced(asked.messages()) == (asked.fence, {"request": one, "answer": two})
    assert asked.messages()[1]["content"].count("\n") == 4


@given(ANY_TEXT)
def test_the_fence_is_that_of_the_question_and_of_no_other(text: str) -> None:
    asked = question(text)
    assert asked.fence == question(text).fence
    for other in (f"{text}.", f"{text}{asked.fence}", asked.fence):
        assert question(other).fence != asked.fence
        assert question(other).fence not in other


def test_the_key_hangs_on_all_that_a_verdict_does_and_not_on_the_fence() -> None:
    keys = {
        question().key("judge"),
        question().key("another"),
        question("The Rhine.").key("judge"),
        question(rubric="Be strict.").key("judge"),
        question(task="Judge.").key("judge"),
        question(choices=("bad", "good")).key("judge"),
        question(data=(("request", "Name one."), ("answer", "The Nile."))).key("judge"),
    }
    assert len(keys) == 7
    assert all(question().fence[5:] not in key for key in keys)
    assert question().rubric_version == question("The Rhine.").rubric_version
    assert question().rubric_version != question(rubric="Be strict.").rubric_version


def test_one_form_of_an_answer_is_read() -> None:
    asked = question(choices=("1", "2", "good"))
    whole = json.dumps({"fence": asked.fence, "verdict": "good"})
    reason = json.dumps({"fence": asked.fence, "reason": 'It says "bad".', "verdict": "good"})
    number = json.dumps({"fence": asked.fence, "verdict": 2})
    assert asked.read(whole) == asked.read(f"\n {reason} \n") == "good"
    assert asked.read(f"<think>bad\n{number}</think>\n```json\n{whole}\n```") == "good"
    assert asked.read(number) == "2"
    for text in (
        "", "good", "null", "[]", '"good"', whole * 2, f"{whole}.", f"```json\n{whole}",
        f"Verdict: {whole}", whole[:-1], whole.replace("good", "Good"), f"[{whole}]",
        whole.replace(asked.fence, asked.fence.upper()), whole.replace('"verdict"', '"Verdict"'),
        whole[:-1] + ', "verdict": "good"}', whole[:-1] + ', "fence": ""}', number[:-1] + ".0}",
        json.dumps({"fence": asked.fence, "verdict": True}), "[" * 100_000, "\ud800",
        json.dumps({"fence": [asked.fence], "verdict": "good"}), "9" * 10_000,
        json.dumps({"fence": asked.fence, "verdict": "good", "reasons": ""}),
    ):  # fmt: skip
        assert asked.read(text) is None, text


@given(ANY_TEXT)
def test_reading_never_raises(text: str) -> None:
    assert question().read(text) is None


def test_messages_without_a_fence_are_refused() -> None:
    with pytest.raises(ValueError, match="names no fence"):
        read_fenced([{"role": "system", "content": "Hello."}])
    with pytest.raises(ValueError, match="no data"):
        read_fenced([question().messages()[0], {"role": "user", "content": "Hello."}])


# -- scores -------------------------------------------------------------------------------------


def test_scores_are_spread_evenly_over_the_choices() -> None:
    task = judged(by_length)
    rewards = task.score_batch([(PLAIN, "Nile."), (PLAIN, "The Nile."), (PLAIN, "It is the Nile.")])
    assert [reward.score for reward in rewards] == [0.0, 0.5, 1.0]
    assert rewards[1].parts == {"gate": 1.0, "judge": 0.5}
    assert rewards[1].metadata == {
        "judge": "scripted", "rubric": rewards[0].metadata["rubric"], "gate": "",
        "verdict": "fair", "error": "",
    }  # fmt: skip


BLANK = [
    "", "   ", "\n\t\r", ".", "?!...", "-- --", "\u200b\u200d\u2060", "\ufeff", "\u00a0", "\u3000",
    "\u202e\u2066", "$+<=>^`|~", "«»„“", "\u3002\u3001\u300c", "\u0301\u0301", "\u3164",
    "\u2800\u2800", "\u115f", "\u00ad", "\U000e0041", "\x00\x1b", "\ud800", "** **",
    "<think>Hm, the Nile.</think>", "```\n```", "\u034f", "\ufe0f",
]  # fmt: skip


@pytest.mark.parametrize("text", BLANK)
def test_blank_answers_are_worth_nothing_and_nobody_is_asked(text: str) -> None:
    judge = ScriptedJudge(lambda data: "good")
    for problem in (PLAIN, ChatTask().sample(np.random.default_rng(0))):
        reward = ChatTask(judge=judge, judge_choices="bad, good").score(problem, text)
        assert reward.score == 0.0
        assert reward.metadata["gate"] == "empty"
    assert judge.asked == []


@pytest.mark.parametrize("text", ["7", "a", "二", "∞", "😀", "½", "«Nil»", "-1", "é", "x\u200b"])
def test_what_says_something_is_judged(text: str) -> None:
    assert not is_blank(text)
    assert judged(lambda data: "good").score(PLAIN, text).score == 1.0


def test_gates_come_before_the_judge() -> None:
    judge = ScriptedJudge(lambda data: "excellent")
    task = ChatTask(judge=judge)
    problem = task.sample(np.random.default_rng(1))
    for text in (problem.prompt, "Nice nonsense. " * 40, "word " * 1001):
        assert task.score(problem, text).score == 0.0
    assert judge.asked == []
    assert task.score(problem, problem.answer).score == 1.0
    assert judge.asked == [{"request": problem.prompt, "answer": problem.answer}]
    assert task.score(PLAIN, "word " * 1001).metadata["gate"] == "too long"
    assert task.score(PLAIN, "Nile " * 50).score == 1.0  # a row may ask for just that


def test_no_verdict_is_no_score() -> None:
    rewards = judged(lambda data: None if "Rhine" in data["answer"] else "fair").score_batch(
        [(PLAIN, "The Rhine."), (PLAIN, "The Nile.")]
    )
    assert [reward.score for reward in rewards] == [None, 0.5]
    assert rewards[0].metadata["error"] == "the script gives no answer"
    assert rewards[0].parts == {}
    odd = judged(lambda data: "splendid").score(PLAIN, "The Nile.")
    assert odd.score is None
    assert odd.metadata["error"] == "the judge's answer holds no verdict"


def test_equal_responses_are_asked_once() -> None:
    judge = ScriptedJudge(lambda data: "fair")
    task = ChatTask(judge=judge)
    task.score_batch([(PLAIN, "Nile"), (PLAIN, "Po"), (PLAIN, "Nile"), (PLAIN, "Nile")])
    assert len(judge.asked) == 2


class Broken(ScriptedJudge):
    """Answers out of order, leaves the last out, or raises."""

    def __init__(self, raises: bool = False) -> None:
        super().__init__(by_length)
        self.raises = raises

    def ask(self, questions: Sequence[Question]) -> Iterable[tuple[int, Answer]]:
        answers = list(super().ask(questions))
        yield from reversed(answers[:-1])
        if self.raises:
            raise RuntimeError("a fault in the judge")


def test_answers_may_come_in_any_order_and_one_that_does_not_come_is_unmeasured() -> None:
    texts = ["Nile.", "The Nile.", "It is the Nile.", "The Po."]
    rewards = ChatTask(judge=Broken(), judge_choices="bad, fair, good").score_batch(
        [(PLAIN, text) for text in texts]
    )
    assert [reward.score for reward in rewards] == [0.0, 0.5, 1.0, None]
    assert rewards[3].metadata["error"] == "the judge gave no answer"


def test_a_judge_that_raises_is_the_callers_to_see_and_nobody_waits_for_it(tmp_path: Path) -> None:
    task = ChatTask(judge=Broken(raises=True), judge_cache=str(tmp_path))
    raised = []

    def score() -> None:
        try:
            task.score_batch([(PLAIN, "Nile"), (PLAIN, "Po")])
        except RuntimeError as error:
            raised.append(error)

    threads = [threading.Thread(target=score) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert not any(thread.is_alive() for thread in threads)
    assert raised


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


def pairwise(rule: Callable[[Mapping[str, str]], str | None], **settings: Any) -> ChatTask:
    return ChatTask(judge=ScriptedJudge(rule), judge_mode="pairwise", **settings)


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
    envs.reset(seed=[5, 5, 5, 8, 8, 8])
    problems = [env.problem for env in envs.unwrapped.envs]  # type: ignore[attr-defined]
    texts = [problem.answer + " It is so." * (i % 3) for i, problem in enumerate(problems)]
    _, rewards, terminated, _, infos = envs.step([[*text.encode(), 258] for text in texts])
    assert terminated.all()
    assert list(rewards) == [0.0, 0.5, 1.0] * 2
    assert infos["scored"].all()
    assert len(judge.asked) == 12


# -- as a task ----------------------------------------------------------------------------------


def on_topic(data: Mapping[str, str]) -> str:
    return "excellent" if len(data["answer"]) > 20 else "poor"


def solved(prompt: Any) -> str:
    """Return an answer of the task's own to a prompt."""
    text = prompt[0]["content"] if not isinstance(prompt, str) else prompt
    drawn = (ChatTask(level="easy").sample(np.random.default_rng(seed)) for seed in range(100))
    return next(problem.answer for problem in drawn if problem.prompt == text)


def test_the_kit_passes_with_a_judge() -> None:
    task = ChatTask(judge=ScriptedJudge(on_topic), level="easy")
    report = check_task(task, problems=3, max_examples=30, solve=solved)
    assert "determinism" not in str(report.skipped)


def test_the_kit_passes_in_pairs() -> None:
    """Rewards hang on the group then, and the task says so."""
    judge = ScriptedJudge(longer)
    check_env(
        "mint/Chat-v0", problems=2, max_examples=20, level="easy", other_process=False,
        judge=judge, judge_mode="pairwise", solve=lambda p: solved(p) + " It is so.",
    )  # fmt: skip


def test_who_is_deterministic() -> None:
    here = {"judge_cache": "off"}
    assert not ChatTask().nondeterministic
    assert not judged(by_length).nondeterministic
    assert pairwise(longer).nondeterministic
    assert ChatTask(judge="http://localhost:9/v1", judge_model="m", **here).nondeterministic
    assert not ChatTask.nondeterministic


class Counting(mint_envs.Task[str]):
    """With ``live`` its rewards carry a number of their own, and it says so."""

    def __init__(self, live: bool = False, honest: bool = True) -> None:
        self.nondeterministic = live and honest
        self.live, self.count = live, 0

    def sample(self, rng: np.random.Generator) -> str:
        return str(rng.integers(1000))

    def prompt(self, problem: str) -> str:
        return f"Say {problem}: "

    def score(self, problem: str, response: str) -> mint_envs.Reward:
        self.count += self.live
        return mint_envs.Reward(float(response.strip() == problem), metadata={"n": self.count})

    def examples(self, problem: str) -> dict[str, float]:
        return {problem: 1.0, "": 0.0}


def test_settings_decide_whether_an_environment_is_nondeterministic() -> None:
    mint_envs.register("tests/Counting-v0", Counting)
    try:
        for live in (True, False):
            env = gym.make("tests/Counting-v0", live=live)
            assert env.spec is not None
            assert env.spec.nondeterministic == live
            check_env("tests/Counting-v0", live=live, problems=2, max_examples=20,
                      other_process=False)  # fmt: skip
        assert not gym.spec("tests/Counting-v0").nondeterministic
        with pytest.raises(ContractError, match="determinism"):
            check_env("tests/Counting-v0", live=True, honest=False, problems=2, max_examples=20,
                      other_process=False)  # fmt: skip
    finally:
        gym.registry.pop("tests/Counting-v0")


def test_a_task_with_a_judge_can_be_pickled() -> None:
    task = ChatTask(judge="http://localhost:9/v1", judge_model="m", judge_cache="off")
    again = pickle.loads(pickle.dumps(task))
    assert again.sample(np.random.default_rng(0)) == task.sample(np.random.default_rng(0))
    scripted = ChatTask(judge=ScriptedJudge(on_topic))
    problem = scripted.sample(np.random.default_rng(0))
    assert pickle.loads(pickle.dumps(scripted)).score(problem, problem.answer).score == 1.0


def test_the_protocol_is_small_and_checked() -> None:
    assert isinstance(ScriptedJudge(by_length), Judge)
    names = {name for name in dir(Judge) if not name.startswith("_")}
    assert names == {"name", "ask"}


def test_rows_need_a_prompt_only(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [{"prompt": "Name a river."}, {"prompt": "Name a hill.", "answer": "The Brocken."}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    task = judged(by_length, dataset=str(path))
    assert task.size == 2
    assert task.score(task.problem(0), "The Nile").score == 0.5
    assert task.problem(1).answer == "The Brocken."
    path.write_text('{"question": "Name a river."}\n')
    with pytest.raises(DatasetError, match="prompt"):
        judged(by_length, dataset=str(path))


URL = "http://localhost:9/v1"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"judge": URL}, "judge_model"),
        ({"judge": "localhost:9", "judge_model": "m"}, "http://localhost:8000/v1"),
        ({"judge": "ftp://localhost/v1", "judge_model": "m"}, "http://localhost:8000/v1"),
        ({"judge": "http://[/v1", "judge_model": "m"}, "http://localhost:8000/v1"),
        ({"judge": "http://:9/v1", "judge_model": "m"}, "http://localhost:8000/v1"),
        ({"judge": 7}, "a URL, or a Judge"),
        ({"judge_model": "m"}, "is for a judge"),
        ({"rubric": "Be fair."}, "is for a judge"),
        ({"judge": URL, "judge_model": "m", "rubric": " "}, "rubric is blank"),
        ({"judge": URL, "judge_model": "m", "judge_mode": "best"}, "judge_mode='best'"),
        ({"judge": URL, "judge_model": "m", "judge_choices": "good"}, "two or more"),
        ({"judge": URL, "judge_model": "m", "judge_choices": "good,,bad"}, "two or more"),
        ({"judge": URL, "judge_model": "m", "judge_choices": "good,good"}, "two or more"),
        ({"judge": URL, "judge_model": "m", "judge_concurrency": 0}, "judge_concurrency=0"),
        ({"judge": URL, "judge_model": "m", "judge_retries": -1}, "judge_retries=-1"),
        ({"judge": URL, "judge_model": "m", "judge_timeout_s": 0.0}, "judge_timeout_s=0.0"),
        ({"judge": URL, "judge_model": "m", "judge_options": {"n": 2}}, "may not set 'n'"),
        ({"judge": URL, "judge_model": "m", "judge_options": {"a": {1}}}, "no JSON object"),
        ({"judge": ScriptedJudge(by_length), "reward": "quickstart-heuristic"}, "two rewards"),
    ],
)
def test_settings_out_of_range(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        mint_envs.make("mint/Chat-v0", **settings)


@pytest.mark.parametrize(
    "settings",
    [
        {"judge": "http://me:sk-secret@localhost/v1"},
        {"judge": "http://sk-secret@localhost/v1"},
        {"judge": "http://localhost/v1?api-key=sk-secret"},
        {"judge": URL, "judge_key_env": "sk-secret"},
    ],
)
def test_a_key_in_the_wrong_place_is_refused_and_not_repeated(settings: dict[str, Any]) -> None:
    with pytest.raises(SettingError) as caught:
        mint_envs.make("mint/Chat-v0", judge_model="m", **settings)
    assert "secret" not in str(caught.value)
