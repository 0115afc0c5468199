"""mint/Chat-v0: problems that can be solved, gates that hold, data sets, settings."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mint_envs
from mint_envs.chat import KINDS, LEFT_OUT, ChatProblem, ChatTask, grade_instructions
from mint_envs.chat.asks import ASKS
from mint_envs.chat.topics import TOPICS
from mint_envs.errors import ContractError, DatasetError, IndexOutOfRange, SettingError
from mint_envs.testing import check_env

pytestmark = pytest.mark.quick


def drawn(task: ChatTask, number: int) -> list[ChatProblem]:
    return [task.sample(np.random.default_rng(seed)) for seed in range(number)]


FULL = ChatTask()
PROBLEMS = drawn(FULL, 400)


@pytest.mark.parametrize(
    "settings",
    [{"level": "easy"}, {"partial_credit": False}],
    ids=str,
)
def test_the_kit_passes(settings: dict[str, Any]) -> None:
    """The settings that test_contract.py does not try."""
    check_env("mint/Chat-v0", problems=2, max_examples=50, other_process=False, **settings)


def test_the_kit_finds_the_quickstart_heuristic_gameable() -> None:
    with pytest.raises(ContractError, match="gameable: a response of 40 made-up words"):
        check_env("mint/Chat-v0", problems=2, other_process=False, reward="quickstart-heuristic")


def test_every_drawn_prompt_has_an_answer_that_follows_all_of_it() -> None:
    for problem in PROBLEMS:
        assert grade_instructions(problem.answer, problem.instructions).score == 1.0
        assert FULL.score(problem, problem.answer).score == 1.0
        assert len(problem.answer) < 700


def test_one_to_four_instructions_of_every_kind() -> None:
    numbers = Counter(len(problem.instructions) for problem in PROBLEMS)
    assert set(numbers) == {1, 2, 3, 4}
    kinds = Counter(kind for problem in PROBLEMS for kind, _ in problem.instructions)
    assert kinds.keys() == {ask.kind for ask in ASKS}
    assert min(kinds.values()) >= 10


def test_instructions_do_not_contradict() -> None:
    """What a drawn prompt asks for is never what it forbids, nor two layouts, cases or ends."""
    for problem in PROBLEMS:
        wanted = dict(problem.instructions)
        assert len(wanted) == len(problem.instructions)
        words = wanted.get("keywords:existence", {}).get("keywords", [])
        forbidden = wanted.get("keywords:forbidden_words", {}).get("forbidden_words", [])
        assert not set(words) & set(forbidden)
        assert len({"change_case:english_capital", "change_case:english_lowercase"} & {*wanted}) < 2
        layouts = {"detectable_format:json_format", "detectable_format:number_bullet_lists",
                   "combination:two_responses", "detectable_format:multiple_sections",
                   "length_constraints:number_paragraphs"}  # fmt: skip
        assert len(layouts & {*wanted}) < 2


def test_every_argument_is_in_the_prompt() -> None:
    for problem in PROBLEMS:
        for _, kwargs in problem.instructions:
            for value in kwargs.values():
                items = value if isinstance(value, list) else [value]
                told = [item for item in items if item not in ("at least", "less than")]
                assert all(str(item) in problem.prompt for item in told), problem.prompt


def test_topics_are_plain_and_their_words_are_theirs() -> None:
    for topic in TOPICS:
        text = " ".join(topic.sentences).lower()
        assert all(word in text for word in topic.words), topic
        assert not set(",\"'0123456789[]*") & set("".join(topic.sentences))


def test_partial_credit() -> None:
    asks = (("punctuation:no_comma", {}), ("keywords:existence", {"keywords": ["water"]}))
    problem = ChatProblem("Write about tea.", "Write about tea.", asks, TOPICS[0])
    half = "I make tea with milk and it is good."
    assert FULL.score(problem, half).score == 0.5
    strict = ChatTask(partial_credit=False)
    assert strict.score(problem, half).score == 0.0
    assert strict.score(problem, "I make tea with hot water and it is good.").score == 1.0


def test_thinking_is_no_part_of_the_answer() -> None:
    problem = PROBLEMS[0]
    for thought in ("<think>Hm, well,\n</think>", "Hm,</think>\n"):
        assert FULL.score(problem, thought + problem.answer).score == 1.0


# -- answers that say nothing -------------------------------------------------------------------


def keywords(problem: ChatProblem) -> list[str]:
    assert problem.topic is not None
    return [problem.topic.name, *problem.topic.words]


def letters(seed: int, count: int, length: int) -> str:
    rng = np.random.default_rng(seed)
    words = ("".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), length)) for _ in range(count))
    return " ".join(words)


def shuffled(text: str) -> str:
    return " ".join(np.random.default_rng(0).permutation(text.split()))


NAME = lambda p: keywords(p)[0]  # noqa: E731
DEGENERATE: dict[str, Callable[[ChatProblem], str]] = {
    "nothing": lambda p: "",
    "spaces": lambda p: " " * 50,
    "line ends": lambda p: "\n" * 30,
    "zero width": lambda p: "\u200b" * 60,
    "zero width between": lambda p: "\u200b".join(NAME(p)),
    "byte order marks": lambda p: "\ufeff \ufeff \ufeff.",
    "non-breaking spaces": lambda p: "\u00a0 " * 40,
    "soft hyphens": lambda p: "\u00ad. " * 40,
    "a full stop": lambda p: ".",
    "a colon": lambda p: ":",
    "dots": lambda p: ". " * 60,
    "digits": lambda p: " ".join(map(str, range(60))),
    "emoji": lambda p: "\U0001f600 " * 40,
    "the prompt reversed": lambda p: " ".join(reversed(p.prompt.split())),
    "the prompt sorted": lambda p: " ".join(sorted(p.prompt.split())),
    "every other word, then the rest": lambda p: " ".join(
        p.prompt.split()[::2] + p.prompt.split()[1::2]
    ),
    "one word": NAME,
    "one word repeated": lambda p: f"{NAME(p)} " * 40,
    "one sentence repeated": lambda p: f"I like {NAME(p)} a lot. " * 12,
    "two words repeated": lambda p: f"{NAME(p)} is " * 25,
    "the worked answer forty times": lambda p: f"{p.answer}\n" * 40,
    "all keywords": lambda p: ", ".join(keywords(p)),
    "all keywords as sentences": lambda p: ". ".join(keywords(p)) + ".",
    "all keywords without commas": lambda p: " ".join(keywords(p)).lower(),
    "keywords as a list": lambda p: "\n".join(f"- {word}" for word in keywords(p)),
    "keywords in capitals": lambda p: " ".join(keywords(p)).upper(),
    "keywords of all topics": lambda p: " ".join(w for t in TOPICS for w in t.words),
    "keyword soup with and": lambda p: " and ".join(keywords(p) * 3),
    "nonsense": lambda p: letters(1, 40, 5),
    "nonsense with full stops": lambda p: letters(2, 20, 6) + ". " + letters(3, 20, 4) + ".",
    "nonsense with the topic": lambda p: f"{NAME(p)} {letters(4, 30, 5)} {NAME(p)}.",
    "nonsense with keywords": lambda p: " ".join(keywords(p)) + " " + letters(5, 30, 6) + ".",
    "one long word": lambda p: "a" * 3000 + " " + NAME(p),
    "keyboard rows": lambda p: f"asdf qwer zxcv uiop hjkl bnm {NAME(p)} tyui ghjk.",
    "small words": lambda p: "the of and a to in is it for on with as at by. " + NAME(p),
    "small words in a ring": lambda p: f"{NAME(p)} the of a in the is a and the to the of a.",
    "the prompt": lambda p: p.prompt,
    "the prompt in capitals": lambda p: p.prompt.upper(),
    "the prompt in quotes": lambda p: f'"{p.prompt.lower()}"',
    "the request alone": lambda p: p.request,
    "the prompt twice": lambda p: f"{p.prompt}\n******\n{p.prompt}",
    "the prompt as JSON": lambda p: json.dumps({"answer": p.prompt}),
    "the prompt and a word": lambda p: f"{p.prompt} Yes.",
    "a refusal": lambda p: "I do not know.",
    "off the topic": lambda p: "The dog is happy because it was given a big bone by my uncle.",
    "an empty JSON object": lambda p: '{"answer": ""}',
    "only form": lambda p: '"<<title>>\nSECTION 1\n***\n- *a*\n- [b]\nP.S."',
    "only thinking": lambda p: f"<think>{p.answer}</think>",
    "too long": lambda p: " ".join(f"{text} Number {i}." for i in range(60) for t in TOPICS[:4]
                                   for text in t.sentences[:2]),
    "a shuffled answer": lambda p: shuffled(" ".join(TOPICS[0].sentences)) + " " + NAME(p),
}  # fmt: skip


@pytest.mark.parametrize("name", DEGENERATE)
def test_a_degenerate_answer_earns_less_than_an_honest_one(name: str) -> None:
    for problem in PROBLEMS[:80]:
        honest = FULL.score(problem, problem.answer).score
        reward = FULL.score(problem, DEGENERATE[name](problem))
        assert reward.score is not None
        assert honest is not None
        assert reward.score < honest, (problem.prompt, reward)
        assert reward.score == 0.0, (problem.prompt, reward)


#: Short answers that a person could give: no gate may stop them.
HONEST = (
    "Tea is warm and I like it.",
    "I think tea is great! It warms you up, it tastes nice, and there are so many kinds.",
    "- Tea comes from leaves.\n- You make it with hot water.\n- It keeps you awake.",
    "TEA IS A HOT DRINK. PEOPLE MAKE IT FROM LEAVES.",
    '{"answer": "Tea is a hot drink made from leaves."}',
    "tea is what my grandmother drinks all day; she says it's good for her heart",
    "<<All about tea>>\n\nTea is a plant, and also the drink we make from it.\n\nP.S. Try it!",
    "Tea helps me wake up. My answer is yes.",
    "Green tea or black tea: both come from one plant, *Camellia sinensis*.",
    "Did you know that tea was first grown in China? People have been drinking it there for "
    "thousands of years. They pour hot water over dried leaves, and they wait a few minutes.",
    "Imagine a cup with hot water. Now we put some little leaves into it. That's tea!",
    "SECTION 1\nTea is a drink.\nSECTION 2\nYou need leaves and hot water to make tea.",
)


@pytest.mark.parametrize("text", HONEST)
def test_an_honest_short_answer_passes_the_gates(text: str) -> None:
    topic = TOPICS[0]
    problem = ChatProblem(
        "Tell a friend about tea. Say something.", "", (("keywords:existence",
        {"keywords": ["tea"]}),), topic)  # fmt: skip
    assert FULL.score(problem, text).metadata["gate"] == ""
    assert FULL.score(problem, text).score == 1.0


@pytest.mark.parametrize(
    ("name", "text", "gate"),
    [
        ("the sea", "The ocean is a world of endless beauty.", ""),
        ("libraries", "A library is where you find all of it.", ""),
        ("bread", "There is nothing like a perfectly baked baguette.", ""),
        ("tea", "The team of my teacher is the best of all.", "off the topic"),
        ("the sea", "We search for it in every season of the year.", "beside the topic"),
    ],
)
def test_the_topic_may_go_by_another_word(name: str, text: str, gate: str) -> None:
    topic = next(topic for topic in TOPICS if topic.name == name)
    problem = ChatProblem("Say it.", "Say it.", (("punctuation:no_comma", {}),), topic)
    assert FULL.score(problem, text).metadata["gate"] == gate


def test_the_request_repeated_and_answered_counts_and_repeated_alone_does_not() -> None:
    task = ChatTask(kinds="combination:repeat_prompt")
    for problem in drawn(task, 20):
        assert task.score(problem, problem.answer).score == 1.0
        assert task.score(problem, f"{problem.request}\n{problem.request}").score == 0.0
        assert task.score(problem, problem.request).metadata["gate"] == "empty"


def test_the_documentation_names_every_kind() -> None:
    page = (Path(__file__).parents[1] / "docs" / "chat.md").read_text(encoding="utf-8")
    assert all(kind.partition(":")[2] in page for kind in (*KINDS, *LEFT_OUT))


# -- settings and data sets ---------------------------------------------------------------------


def test_held_out_prompts_are_others() -> None:
    train = {p.prompt for p in drawn(ChatTask(level="easy"), 300)}
    test = {p.prompt for p in drawn(ChatTask(level="easy", split="test"), 60)}
    assert not train & test
    assert len(test) > 20


def test_easy_prompts_are_short() -> None:
    problems = drawn(ChatTask(level="easy"), 100)
    assert all(len(problem.instructions) == 1 for problem in problems)
    assert max(len(problem.prompt) for problem in problems) < 80


def test_kinds() -> None:
    task = ChatTask(kinds="punctuation:no_comma, detectable_format:title")
    found = {kind for problem in drawn(task, 50) for kind, _ in problem.instructions}
    assert found == {"punctuation:no_comma", "detectable_format:title"}


def test_the_quickstart_heuristic_can_be_gamed() -> None:
    task = ChatTask(reward="quickstart-heuristic")
    problem = task.sample(np.random.default_rng(0))
    assert task.score(problem, letters(1, 40, 5) + " . .").score == 1.0
    assert task.score(problem, "Bees carry pollen. So they help the flowers to make seeds.").score \
        == pytest.approx(0.8)  # fmt: skip
    assert task.score(problem, "Bees fly.").score == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"most": 5}, "most=5"),
        ({"level": "hard"}, "level='hard'"),
        ({"kinds": "punctuation:no_coma"}, "Did you mean 'punctuation:no_comma'"),
        ({"kinds": "detectable_format:title", "level": "easy"}, "no 'detectable_format:title'"),
        ({"max_words": 5}, "max_words=5"),
        ({"reward": "best"}, "quickstart-heuristic"),
        ({"split": "dev"}, "split='dev'"),
    ],
)
def test_settings_out_of_range(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        mint_envs.make("mint/Chat-v0", **settings)


ROW = {"key": 1, "prompt": "Name two rivers. No commas.",
       "instruction_id_list": ["punctuation:no_comma", "keywords:existence"],
       "kwargs": [{"keywords": None}, {"keywords": ["Nile"], "num_words": None}]}  # fmt: skip
GERMAN = {"prompt": "Answer in German.", "instruction_id_list": ["language:response_language"],
          "kwargs": [{"language": "de"}]}  # fmt: skip


def rows_file(folder: Path, *rows: dict[str, Any]) -> str:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def test_rows_of_a_data_set(tmp_path: Path) -> None:
    task = ChatTask(dataset=rows_file(tmp_path, ROW, GERMAN))
    assert task.size == 2
    german = task.problem(1)
    assert task.score(german, "Das ist ein kurzer Satz, den ich sage.").score == 1.0
    assert task.score(german, "This is a short sentence that I say.").score == 0.0
    problem = task.problem(0)
    assert task.prompt(problem) == [{"role": "user", "content": ROW["prompt"]}]
    assert task.score(problem, "Nile and Rhine are rivers").score == 1.0
    assert task.score(problem, "Nile, Rhine, Po, Elbe").score == 0.5
    assert task.score(problem, "Nile " * 20).metadata["gate"] == "repetition"
    assert task.score(problem, "Po").score == 0.0
    with pytest.raises(IndexOutOfRange):
        task.problem(2)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"prompt": "x"}, "instruction_id_list"),
        ({**ROW, "kwargs": [{}]}, "2 instructions and 1 kwargs"),
        ({**ROW, "kwargs": "{}"}, "must be lists"),
        ({**ROW, "kwargs": [{}, {}]}, "row 1 .* needs argument 'keywords'"),
        ({**ROW, "instruction_id_list": ["a", "b"]}, "unknown kind 'a'"),
        ({**GERMAN, "kwargs": [{"language": "xx"}]}, "row 1 .* a code of a language"),
    ],
)
def test_broken_rows(row: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=message):
        ChatTask(dataset=rows_file(tmp_path, row))
