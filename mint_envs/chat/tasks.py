"""mint/Chat-v0: short answers under instructions that can be checked."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np

from ..core import Message, Prompt, Reward
from ..datasets import DatasetTask, held_out
from ..errors import SettingError, did_you_mean, require
from ..family import CommonSettings, Dataset, Drop, Level, PartialCredit, Split
from ..thinking import spoken
from .about import beside_the_topic
from .asks import ASKS, EASY, draw_asks
from .compose import candidates
from .folding import seen
from .gates import failed_gate, is_blank, is_too_long
from .heuristic import quickstart_heuristic
from .instructions import grade_said
from .judge.settings import CHOICES, KEY_ENV, JudgeSettings
from .judged import JudgedAnswer, judged
from .kinds import SETS
from .made import draw_made, kinds_of
from .rows import ChatProblem, load_chat_problems
from .topics import REQUESTS, TOPICS

_REPEAT, _END = "combination:repeat_prompt", "startend:end_checker"
_MOST_DRAWN = 500  # prompts, to find one in a split
_SAYS_NOTHING = ("only words of the prompt", "off the topic")
_LEVELS = {"full": ASKS, "easy": EASY}


class ChatTask(DatasetTask[ChatProblem]):
    """Requests with one to four instructions that can be checked.

    ``level="easy"``: one short instruction, for a small model. ``instructions="ifbench"`` or
    ``"ifrlvr"``: one instruction of those kinds. Some of them (``made.HELD_OUT``) are asked for
    by ``split="test"`` only, unless ``kinds`` names them.

    The reward is the fraction of the instructions that the response follows, times a gate that
    is 0 for what is no answer: nothing, one thing again and again, the prompt copied, no prose,
    not a word on the topic, or far too long. The gate's name is in ``metadata["gate"]``.

    ``dataset`` takes rows of IFEval, IFBench and IF-RLVR (``chat.rows``).
    Rows with a kind that is left out (``mint_envs.chat.LEFT_OUT``) are passed over; their
    answers need be no prose and on no topic.

    With ``judge`` the reward is a model's verdict instead, and rows need a ``prompt`` only. What
    a gate stops, and what is blank, earns 0 and is not sent; what the judge gave no verdict on is
    unmeasured (None), never 0. docs/chat.md says what such a reward rests on.

    Raises:
        SettingError: a setting out of range.
        DatasetError: the data set is missing, empty or broken.
    """

    def __init__(
        self,
        dataset: Dataset = None,
        level: Level = "full",
        most: Annotated[int, "largest number of instructions in a prompt, 1 to 4"] = 4,
        kinds: Annotated[
            str | None, "kinds to draw from, divided by commas; default: all of the level"
        ] = None,
        instructions: Annotated[
            Literal["ifeval", "ifbench", "ifrlvr"], "whose kinds drawn prompts ask for"
        ] = "ifeval",
        verdict: Annotated[
            Literal["strict", "loose"],
            "'loose': also followed without the first or last line, or without stars",
        ] = "strict",
        official: Annotated[
            bool, "rows: the verdicts of the official checkers, where ours are stricter"
        ] = False,
        partial_credit: PartialCredit = True,  # one step on the way is worth something
        max_words: Annotated[int, "an answer of more words earns 0"] = 1000,
        reward: Annotated[
            Literal["instructions", "quickstart-heuristic"],
            "'quickstart-heuristic': the MinT demo's, which forty nonsense words satisfy",
        ] = "instructions",
        split: Split = None,
        drop: Drop = None,
        judge: Annotated[
            Any,
            "address of an OpenAI-compatible service ('http://host/v1') that judges; or a Judge",
        ] = None,
        judge_model: Annotated[str | None, "name of the model there"] = None,
        rubric: Annotated[str | None, "what the judge judges by; default: a general one"] = None,
        judge_mode: Annotated[
            Literal["score", "pairwise"], "'pairwise': answers to one prompt against each other"
        ] = "score",
        judge_choices: Annotated[
            str, "verdicts of score mode from worst (0) to best (1), divided by commas"
        ] = CHOICES,
        judge_criteria: Annotated[
            dict[str, float] | None,
            "score mode: what is judged one by one, each with its weight; default: the whole",
        ] = None,
        judge_cache: Annotated[
            str | None, "folder of verdicts given; default: the user's cache; 'off': none"
        ] = None,
        judge_key_env: Annotated[
            str, "name of the environment variable that holds the key of the service"
        ] = KEY_ENV,
        judge_concurrency: Annotated[int, "most requests at one time"] = 8,
        judge_retries: Annotated[int, "how often a request that failed is made again"] = 5,
        judge_timeout_s: Annotated[float, "seconds for one request"] = 60.0,
        judge_options: Annotated[
            dict[str, Any] | None, "further fields of a request; null leaves a default one out"
        ] = None,
    ) -> None:
        CommonSettings(dataset, split, drop, level=level, levels=tuple(_LEVELS))
        require(1 <= most <= 4, f"most={most} must be from 1 to 4")
        require(max_words >= 100, f"max_words={max_words} must be 100 or more")
        require(
            reward in ("instructions", "quickstart-heuristic"),
            f"reward={reward!r}: 'instructions' or 'quickstart-heuristic'",
        )
        require(verdict in ("strict", "loose"), f"verdict={verdict!r}: 'strict' or 'loose'")
        require(dataset is not None or not official, "official=True is for rows: give dataset=...")
        require(instructions in SETS, f"instructions={instructions!r}: one of {', '.join(SETS)}")
        require(
            instructions == "ifeval" or (most == 4 and level == "full"),
            f"instructions={instructions!r} has one instruction a prompt, of one level: leave out "
            "most and level",
        )
        self._loose, self._official, self._instructions = verdict == "loose", official, instructions
        self._level = level
        self._kinds = _kinds(level, kinds) if instructions == "ifeval" else frozenset[str]()
        self._made_kinds = made_kinds(instructions, kinds, split)
        self._most = 1 if level == "easy" else most
        self._partial_credit, self._max_words = partial_credit, max_words
        self._heuristic = reward == "quickstart-heuristic"
        self._judge = _judge_settings(
            judge, judge_model, rubric, judge_mode, judge_choices, judge_cache, judge_key_env,
            judge_concurrency, judge_retries, judge_timeout_s, judge_options, judge_criteria,
        )  # fmt: skip
        require(
            self._judge is None or not self._heuristic,
            "judge and reward='quickstart-heuristic' are two rewards: leave one out",
        )
        self.nondeterministic = self._judge is not None and self._judge.nondeterministic
        rows = (
            None if dataset is None else load_chat_problems(dataset, split, self._judge is not None)
        )
        by_kind = rows is None and instructions != "ifeval" and kinds is None
        super().__init__(rows, "all" if by_kind else split, drop)
        self._needs_a_prompt(kinds, split)

    def key(self, problem: ChatProblem) -> str:
        return problem.prompt

    def finish(self, problem: ChatProblem) -> ChatProblem | None:
        answer = self._composed(problem)
        return dataclasses.replace(problem, answer=answer) if answer else None

    def prompt(self, problem: ChatProblem) -> Prompt:
        return [Message(role="user", content=problem.prompt)]

    def score(self, problem: ChatProblem, response: str) -> Reward:
        return self.score_batch([(problem, response)])[0]

    def score_batch(self, pairs: Sequence[tuple[ChatProblem, str]]) -> list[Reward]:
        """Score many responses; with a judge those to one prompt are a group."""
        told = [(problem, _spoken_lines(response)) for problem, response in pairs]
        if self._judge is None:
            return [self._graded(*pair) for pair in told]
        return judged(self._judge, [self._entry(*pair) for pair in told])

    def _graded(self, problem: ChatProblem, text: str) -> Reward:
        if self._heuristic:
            return quickstart_heuristic(text)
        graded = grade_said(
            text,
            problem.instructions,
            problem.request,
            loose=self._loose,
            official=self._official,
            trained=problem.topic is not None,
        )
        gate = self._gate(problem, text)
        followed = graded.score or 0.0
        earned = followed if self._partial_credit else float(followed == 1.0)
        parts = {"gate": float(not gate), **graded.parts}
        return Reward(0.0 if gate else earned, parts, {**graded.metadata, "gate": gate})

    def _gate(self, problem: ChatProblem, text: str) -> str:
        gate = self._plain_gate(problem, text)
        topic, prose = problem.topic, problem.form == "prose"
        if gate or topic is None or not prose or text == problem.answer:  # it answers as drawn
            return gate
        return beside_the_topic(seen(_own_words(text, problem)), problem.prompt, topic)

    def _plain_gate(self, problem: ChatProblem, text: str, *, named: bool = False) -> str:
        """Return the gate for what is no answer to anything; ``named``: or not to this topic."""
        if problem.form == "fixed":  # one word may be right, and a copy may be what is asked for
            return "too long" if is_too_long(text, self._max_words) else ""
        topic, prose = problem.topic, problem.topic is not None and problem.form == "prose"
        return failed_gate(
            seen(_own_words(text, problem)),
            problem.prompt,
            topic.stems if topic is not None and (named or not prose) else (),
            english=prose,
            max_words=self._max_words,
        )

    def _entry(self, problem: ChatProblem, text: str) -> JudgedAnswer:
        """Return what a judge is shown. Rows may ask for one word, or for a word repeated."""
        if is_blank(text):
            gate = "empty"
        elif problem.topic is not None:
            gate = self._gate(problem, text)
        else:
            gate = "too long" if is_too_long(text, self._max_words) else ""
        return JudgedAnswer(problem.prompt, text, gate, problem.answer)

    def examples(self, problem: ChatProblem) -> dict[str, float]:
        if not problem.answer or self._judge is not None:  # a judge's verdicts are its own
            return {}
        if self._heuristic:
            return {problem.answer: 1.0, "": 0.0}
        if problem.form == "fixed":  # a blank answer is wrong, whatever else is right
            return {problem.answer: 1.0, "": 0.0}
        return {problem.answer: 1.0, problem.prompt: 0.0, "": 0.0}

    def draw(self, rng: np.random.Generator) -> ChatProblem:
        if self._instructions != "ifeval" and not self._heuristic:
            made = draw_made(rng, self._made_kinds)
            asked = (made.instruction,)
            return ChatProblem(
                made.prompt, made.request, asked, made.topic, made.answer, form=made.form
            )
        topic = TOPICS[int(rng.integers(len(TOPICS)))]
        request = REQUESTS[int(rng.integers(len(REQUESTS)))].format(topic.name)
        count = 0 if self._heuristic else int(rng.integers(1, self._most + 1))
        asks = [ask for ask in _LEVELS[self._level] if ask.kind in self._kinds]
        drawn = draw_asks(rng, asks, topic, request, count)
        prompt = " ".join([request, *(text for _, text in drawn)])
        return ChatProblem(prompt, request, tuple(one for one, _ in drawn), topic)

    def _needs_a_prompt(self, kinds: str | None, split: str | None) -> None:
        """Raise SettingError where no prompt of the kinds is in the split."""
        if self.rows is not None or kinds is None or split == "all":
            return
        rng = np.random.default_rng(0)
        keys = (self.key(self.draw(rng)) for _ in range(_MOST_DRAWN))
        require(
            any(held_out(key) == (split == "test") for key in keys),
            f"kinds={kinds!r} has no prompt of split={split or 'train'!r}: name more, or 'all'",
        )

    def _composed(self, problem: ChatProblem) -> str:
        """Return an answer that follows all of the prompt, or ``""`` if none is found."""
        if problem.answer:
            return problem.answer if self._answers(problem, problem.answer) else ""
        assert problem.topic is not None
        found = candidates(problem.topic, problem.instructions)
        texts = [answer for answer in found if self._answers(problem, answer)]
        telling = (text for text in texts if self._gate(problem, text) not in _SAYS_NOTHING)
        return next(telling, next(iter(texts), ""))

    def _answers(self, problem: ChatProblem, text: str) -> bool:
        """Return whether this can be the worked answer: it follows all, and is some answer."""
        graded = self._graded(problem, text)
        if self._heuristic:
            return graded.score == 1.0
        return all(graded.metadata["followed"]) and not self._plain_gate(problem, text, named=True)


def _judge_settings(judge: Any, model: str | None, *others: Any) -> JudgeSettings | None:
    if judge is None:
        given = (("judge_model", model), ("rubric", others[0]), ("judge_criteria", others[-1]))
        for name, value in given:
            require(value is None, f"{name}={value!r} is for a judge: give judge='http://.../v1'")
        return None
    return JudgeSettings(judge, model, *others)


def _spoken_lines(response: str) -> str:
    """Return the answer without thoughts, with plain line ends."""
    return spoken(response).replace("\r\n", "\n")


def made_kinds(instructions: str, kinds: str | None, split: str | None) -> list[str]:
    """Return the kinds that prompts of IFBench or IF-RLVR ask for, in a fixed order."""
    if kinds is None or instructions == "ifeval":
        return kinds_of(instructions, split)
    return sorted(_named_kinds(kinds, frozenset(SETS[instructions])))


def _kinds(level: str, kinds: str | None) -> frozenset[str]:
    valid = frozenset(ask.kind for ask in _LEVELS[level])
    return valid if kinds is None else _named_kinds(kinds, valid)


def _named_kinds(kinds: str, valid: frozenset[str]) -> frozenset[str]:
    wanted = frozenset(kind.strip() for kind in kinds.split(","))
    for kind in sorted(wanted - valid):
        raise SettingError(f"kinds={kinds!r}: no {kind!r} to draw. {did_you_mean(kind, valid)}")
    return wanted


def _own_words(text: str, problem: ChatProblem) -> str:
    """Return the answer proper: without the request or the ending that was asked for."""
    for kind, arguments in problem.instructions:
        if kind == _REPEAT:
            repeated = (arguments.get("prompt_to_repeat") or problem.request).strip()
            start = text.strip()
            if start.lower().startswith(repeated.lower()):
                text = start[len(repeated) :]
        elif kind == _END:
            ending, whole = arguments["end_phrase"].strip(), text.rstrip(' \n"*')
            if whole.lower().endswith(ending.lower()):
                text = whole[: -len(ending)]
    return text
