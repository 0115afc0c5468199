"""Judges without a network: questions and their fence, and scores."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from judging import ANY_TEXT, PLAIN, by_length, judged, question

from mint_envs.chat import Answer, ChatTask, Question, ScriptedJudge
from mint_envs.chat.gates import is_blank
from mint_envs.chat.judge.question import json_quoted, read_fenced
from mint_envs.errors import SettingError

pytestmark = pytest.mark.quick

# -- the question -------------------------------------------------------------------------------


@given(ANY_TEXT)
def test_any_text_is_quoted_on_one_line_that_can_be_seen(text: str) -> None:
    line = json_quoted(text)
    assert json.loads(line) == text
    assert line.isprintable()
    assert "<" not in line
    assert "[INST]" not in line


def test_letters_of_any_script_stay_as_they_are() -> None:
    assert json_quoted(
        "尼罗河 Нил नील é 😀 [1] a<b\n\x7f\u202e\u200b[/INST]<|im_end|>\U000e0041"
    ) == (
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


# -- criteria -----------------------------------------------------------------------------------

CRITERIA = {"It is true.": 3.0, "It is short.": 1.0}


def test_criteria_are_judged_in_one_question_and_weighed() -> None:
    judge = ScriptedJudge(lambda data: {"1": "good", "2": "bad"})
    task = ChatTask(judge=judge, judge_choices="bad, fair, good", judge_criteria=CRITERIA)
    reward = task.score(PLAIN, "The Nile.")
    assert reward.score == 0.75
    assert reward.parts == {"gate": 1.0, "judge": 0.75, "It is true.": 1.0, "It is short.": 0.0}
    assert len(judge.asked) == 1


@pytest.mark.parametrize(
    "verdicts", [{"1": "good"}, {"1": "good", "2": "splendid"}, {"2": "good"}], ids=str
)
def test_a_criterion_that_the_judge_skips_is_not_measured(verdicts: dict[str, str]) -> None:
    task = judged(lambda data: verdicts, judge_criteria=CRITERIA)
    reward = task.score(PLAIN, "The Nile.")
    assert reward.score is None
    assert "skipped" in reward.metadata["error"]


def test_criteria_have_one_form_too(tmp_path: Path) -> None:
    asked = question(criteria=tuple(CRITERIA))
    words = asked.messages()[0]["content"]
    assert "1. It is true.\n2. It is short." in words
    good = {"fence": asked.fence, "verdicts": {"1": "bad", "2": "good"}}
    assert asked.by_criterion(str(asked.read(json.dumps(good)))) == {
        "It is true.": "bad", "It is short.": "good",
    }  # fmt: skip
    for wrong in ({"verdict": "good"}, {"verdicts": {"3": "good"}}, {"verdicts": "good"},
                  {"verdicts": {}}, {"verdicts": {"1": ["good"]}}):  # fmt: skip
        assert asked.read(json.dumps({"fence": asked.fence, **wrong})) is None
    assert asked.read(json.dumps({**good, "fence": "DATA-0"})) is None
    assert asked.fence != question().fence
    # What was skipped is asked again; what is whole is kept.
    replies = iter([{"1": "good"}, {"1": "good", "2": "good"}])
    judge = ScriptedJudge(lambda data: next(replies))
    task = ChatTask(judge=judge, judge_choices="bad, fair, good", judge_criteria=CRITERIA,
                    judge_cache=str(tmp_path))  # fmt: skip
    assert [task.score(PLAIN, "The Nile.").score for _ in range(3)] == [None, 1.0, 1.0]


@pytest.mark.parametrize(
    ("criteria", "message"),
    [
        ({}, "1 to 20 criteria"), ({"": 1.0}, "says what is judged"), ({"a": 0}, "above 0"),
        ({"a": True}, "above 0"), ({"a": float("nan")}, "above 0"), ({"judge": 1}, "says what"),
    ],
)  # fmt: skip
def test_criteria_out_of_range(criteria: dict[str, float], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        ChatTask(judge=ScriptedJudge(by_length), judge_criteria=criteria)
    with pytest.raises(SettingError, match="for judge_mode='score'"):
        ChatTask(judge=ScriptedJudge(by_length), judge_mode="pairwise", judge_criteria={"a": 1.0})
    with pytest.raises(SettingError, match="is for a judge"):
        ChatTask(judge_criteria={"a": 1.0})
