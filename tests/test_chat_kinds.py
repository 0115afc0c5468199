"""IFBench's and IF-RLVR's kinds: official verdicts, texts that tell, signs that look alike."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mint_envs.chat import KINDS, ChatTask, grade_instructions
from mint_envs.chat.folding import seen
from mint_envs.chat.instructions import grade_said
from mint_envs.chat.kinds import SETS
from mint_envs.chat.made import HELD_OUT
from mint_envs.chat.makers import MAKERS, Scene
from mint_envs.chat.topics import REQUESTS, TOPICS
from mint_envs.errors import SettingError

pytestmark = pytest.mark.quick

DATA = Path(__file__).parent / "data" / "ifbench_verdicts.jsonl.gz"
ROWS = [json.loads(line) for line in gzip.decompress(DATA.read_bytes()).splitlines()]


def follows(text: str, kind: str, given: dict[str, Any] | None = None, **how: bool) -> bool:
    return grade_instructions(text, [(kind, given or {})], **how).score == 1.0


# -- official verdicts ---------------------------------------------------------------------------


@pytest.mark.parametrize("official", [False, True])
def test_ifbench_verdicts_are_the_official_ones_but_for_a_verb_that_its_tagger_takes_for_a_name(
    official: bool,
) -> None:
    asked = [
        (how, kind, given, row["response"], verdict)
        for row in ROWS
        for how in ("strict", "loose")
        for kind, given, verdict in zip(row["kinds"], row["kwargs"], row[how], strict=True)
    ]
    different = [
        (how, kind, response[:16])
        for how, kind, given, response, verdict in asked
        if follows(response, kind, given, loose=how == "loose", official=official) != verdict
    ]
    assert different == [
        ("strict", "words:start_verb", "Understand Galoi"),
        ("loose", "words:start_verb", "Understand Galoi"),
    ]
    assert len(asked) == 334


def test_every_kind_is_there_once_and_has_a_maker() -> None:
    assert {name: len(kinds) for name, kinds in SETS.items()} == {
        "ifeval": 25, "ifbench": 58, "ifrlvr": 29,
    }  # fmt: skip
    assert len(KINDS) == 25 + 58 + 29
    assert MAKERS.keys() == KINDS.keys()
    assert KINDS.keys() - SETS["ifeval"].keys() > HELD_OUT


@pytest.mark.parametrize(
    ("kind", "given", "strict", "loose"),
    [
        ("format:no_whitespace", {}, "Here:\nTea.", "*Tea*"),
        ("words:start_verb", {}, "Sure!\nThink of tea.", "Think"),
        ("format:title_case", {}, "ok\nTea Is Good.", "Tea"),
    ],
)
def test_loose_verdicts_forgive_a_first_line_and_stars(
    kind: str, given: dict[str, Any], strict: str, loose: str
) -> None:
    assert not follows(strict, kind, given)
    assert follows(strict, kind, given, loose=True)
    assert follows(loose, kind, given, loose=True)
    assert not follows("", kind, given, loose=True)


# -- texts that tell -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", MAKERS)
def test_what_is_made_to_follow_does_and_what_is_spoiled_does_not(kind: str) -> None:
    maker, texts = MAKERS[kind], set()
    for seed in range(200 if kind != "language:response_language" else 40):
        topic = TOPICS[seed % len(TOPICS)]
        request = REQUESTS[seed % len(REQUESTS)].format(topic.name)
        scene = Scene(topic, request, np.random.default_rng(seed))
        given = maker.draw(scene)
        text = maker.write(scene, given)
        spoiled = maker.spoil(scene, given, text)
        for said, wanted in ((text, 1.0), (spoiled, 0.0)):
            verdict = grade_said(said, [(kind, given)], request, trained=True)
            assert verdict.score == wanted, (seed, given, said)
        texts.add(text)
    assert len(texts) > 1 or kind in FIXED


#: Kinds with one right answer.
FIXED = {
    "custom:reverse_newline", "custom:word_reverse", "custom:character_reverse",
    "custom:european_capitals_sort", "repeat:repeat_simple",
}  # fmt: skip


@pytest.mark.parametrize("kind", [k for k, one in KINDS.items() if one.trained])
def test_a_stricter_checker_for_drawn_prompts_finds_what_the_official_one_lets_pass(
    kind: str,
) -> None:
    text, given = LET_PASS[kind]
    assert follows(text, kind, given)
    assert grade_said(text, [(kind, given)], "", trained=True).score == 0.0


LET_PASS: dict[str, tuple[str, dict[str, Any]]] = {
    "count:words_japanese": ("Too short.", {"N": 3}),
    "ratio:sentence_type": ("No question!", {}),
    "ratio:sentence_balance": ("No end at all", {}),
    "ratio:sentence_words": ("I go. I go. I go.", {}),
    "words:palindrome": ("level " * 10, {}),
    "words:paragraph_last_first": ("One\nword", {}),
    "sentence:alliteration_increment": ("One sentence.", {}),
    "sentence:increment": ("One sentence.", {"small_n": 2}),
    "format:quotes": ("It's \"a 'b' c\" day's", {}),
    "format:line_indent": ("One line.", {}),
    "format:list": ("well-known and long-lived", {"sep": "-"}),
    "format:sub-bullets": ("No bullets.", {}),
    "format:no_bullets_bullets": ("What? Why?\n* a\n* b", {}),
    "custom:reverse_newline": ("Zimbabwe\n" * 52, {}),
    "custom:csv_special_character": (
        'ProductID,Category,Brand,Price,Stock\n1,a,"&",1,1\n' + "2,too,short\n" * 13, {}),
    "custom:date_format_list": ("1800-00-99", {}),
    "repeat:repeat_change": ("Say  hi.", {"prompt_to_repeat": "Say hi."}),
    "repeat:repeat_span": ("ay", {"prompt_to_repeat": "Say hi.", "n_start": 1, "n_end": 2}),
    "new:copy_span_idx": ("a", {"prompt_to_repeat": "Say hi.", "n_start": 1, "n_end": 2}),
    "detectable_format:sentence_hyphens": ("One sentence.", {}),
    "keywords:no_adjacent_consecutive": ('a "b', {}),
    "detectable_format:bigram_wrapping": ("<<a b>> c", {}),
    "count:counting_composition": ("A b.***A b.***A b.", {"n_sent": 1, "n_words": 3}),
    "count:count_unique": ("Tea tea", {}),
    "keywords:palindrome": ("I", {}),
    "length_constraints:number_paragraphs": ("a\n***\n.\n***\nb", {"num_paragraphs": 3}),
    "detectable_format:number_bullet_lists": ("- a\n-\n-!", {"num_bullets": 3}),
    "detectable_format:number_highlighted_sections": ("*.* *,*", {"num_highlights": 2}),
    "detectable_format:multiple_sections": (
        "PART 1 PART 1 PART 01", {"section_spliter": "PART", "num_sections": 3}),
    "detectable_format:title": ("<<.>> tea", {}),
    "detectable_content:number_placeholders": ("[] [ ] [!]", {"num_placeholders": 3}),
    "detectable_content:postscript": ("Tea. P.S. ...", {"postscript_marker": "P.S."}),
    "combination:two_responses": ("tea\n******\nTEA.", {}),
    "startend:quotation": ('"..."', {}),
}  # fmt: skip


# -- signs that look alike -----------------------------------------------------------------------

NO_COMMA = ("punctuation:no_comma", {})
NO_TEA = ("keywords:forbidden_words", {"forbidden_words": ["tea"]})
FEW = ("length_constraints:number_words", {"relation": "less than", "num_words": 4})
THREE = {"relation": "less than", "num_sentences": 3}
FEW_E = {"letter": "e", "let_relation": "less than", "let_frequency": 3}

DODGES = [
    *((f"Tea{comma} warm", *NO_COMMA) for comma in "\uff0c\u060c\u3001\u1363\ufe50\uff64\u201a"),
    ("I drink t\u0435a", *NO_TEA),  # Cyrillic e
    ("I drink \u0442\u0435\u0430, te\u0430", *NO_TEA),
    ("I drink t\u200bea", *NO_TEA),
    ("I drink t\u00adea", *NO_TEA),
    ("I drink t\u2060e\ufeffa", *NO_TEA),
    ("I drink t\u0336e\u0336a\u0336", *NO_TEA),
    ("I drink \uff54\uff45\uff41", *NO_TEA),
    ("I drink _tea_ now", *NO_TEA),
    ("one_two_three_four_five", *FEW),
    ("a\u200bb c d e", *FEW),
    ("Two words.***\u200b\n", "length_constraints:number_paragraphs", {"num_paragraphs": 2}),
    ('{"a": NaN}', "detectable_format:json_format", {}),
    ('{"a": -Infinity}', "detectable_format:json_format", {}),
    ('{"a": {"b": 1, "b": 2}}', "detectable_format:json_format", {}),
    *((f"Tea{one} warm", *NO_COMMA) for one in "\u02cf\u0375\u055d\u2e49\U00016af5\U0001f102"),
    ("I drink \u1d57\u1d49\u1d43", *NO_TEA),  # raised
    ("I drink \U0001d42d\U0001d41e\U0001d41a", *NO_TEA),  # bold, of mathematics
    ("I drink \u24e3\u24d4\u24d0", *NO_TEA),  # in circles
    ("I drink \U0001f163\U0001f154\U0001f150", *NO_TEA),  # in black discs
    ("I drink \u1d1b\u1d07\u1d00", *NO_TEA),  # small capitals
    ("I drink te\u0251, t\u212fa", *NO_TEA),
    ("I drink \u03c4ea", *NO_TEA),
    ("I drink \ua4d4e\ua4ee", *NO_TEA),  # Lisu
    ("I drink t\u034fe\U000e0061a", *NO_TEA),  # a joiner of graphemes, and a tag
    *(
        (f"Tea{stop} Milk{stop} Both.", "length_constraints:number_sentences", THREE)
        for stop in "\u3002\u0964\u2024\u06d4\u0589"
    ),
    ("Tea\u3002 Milk!", "punctuation:punctuation_dot", {}),
    ("b\u1d49\u1d49 tre\u212f", "keywords:letter_frequency", FEW_E),
    ("a\n***\n\u2800\n***\nb", "length_constraints:number_paragraphs", {"num_paragraphs": 3}),
    ('{"a": 1e999}', "detectable_format:json_format", {}),
    ('{"\\u0061": 1, "a": 2}', "detectable_format:json_format", {}),
    ("I drink tea.", "keywords:exclude_word_harder", {"keyword": "tea"}),
    ("Wait\u2026 what", "punctuation:punctuation_dot", {}),
    ("Stop\uff01", "punctuation:punctuation_exclamation", {}),
    ("And and, AND and", "count:conjunctions", {"small_n": 2}),
]


@pytest.mark.parametrize(("text", "kind", "given"), DODGES, ids=ascii)
def test_a_dodge_does_not_pass_and_the_official_verdict_stays(
    text: str, kind: str, given: dict[str, Any]
) -> None:
    assert not follows(text, kind, given)
    if text.isascii() or kind != "length_constraints:number_words":
        assert follows(text, kind, given, official=True) or "\u200b" in text


@pytest.mark.parametrize(
    "text", ["x\u00b2 + 1", "Tea\u2122", "\U0001f170", "\U0001f1eb\U0001f1f7", "\u2460"]
)
def test_other_forms_of_letters_are_letters_and_signs_stay_signs(text: str) -> None:
    plain = {"x\u00b2 + 1": "x2 + 1", "\u2460": "1"}
    assert seen(text) == plain.get(text, text)


def test_a_word_with_combining_marks_counts_once() -> None:
    hindi = "मैं हर दिन सुबह चाय पीता हूँ"
    seven = {"relation": "less than", "num_words": 8}
    assert follows(hindi, "length_constraints:number_words", seven)
    assert not follows(hindi, "length_constraints:number_words", seven, official=True)
    cafe = {"keywords": ["caf\u00e9"]}
    assert follows("A cafe\u0301 here", "keywords:existence", cafe)
    assert follows(hindi, "keywords:existence", {"keywords": ["चाय"]})


def test_a_blank_paragraph_is_none() -> None:
    given = {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "often"}
    assert follows("A.\n\n \n\nOften b.", "length_constraints:nth_paragraph_first_word", given)
    assert not follows(
        "A.\n\n \n\nOften b.", "length_constraints:nth_paragraph_first_word", given, official=True
    )


def test_other_scripts_stay_what_they_are() -> None:
    for text in ("Привет, как дела? Сорок.", "καλημέρα", "Я ем суши", "日本語", "naïve café"):
        assert seen(text) == text
    assert (
        seen("the word \u0441\u043e\u0440\u0435 here and so on") == "the word cope here and so on"
    )


# -- properties ----------------------------------------------------------------------------------

EVERY = [
    (
        kind,
        MAKERS[kind].draw(
            Scene(TOPICS[0], "Write a short note about tea.", np.random.default_rng(0))
        ),
    )
    for kind in KINDS
    if kind != "language:response_language"
]
SIGNS = st.text("aeT.!?-*<>[](){}'\"\n ,:;\u2019\u3042\u200b\u0435\U0001f600=\t0_`")


@settings(max_examples=40, deadline=None)
@given(SIGNS | st.text(st.characters(exclude_categories=())))
def test_any_text_gets_a_verdict_of_every_kind(text: str) -> None:
    for how in ({}, {"loose": True}, {"official": True}):
        assert grade_instructions(text, EVERY, "Say hi.", **how).score is not None


@settings(max_examples=30, deadline=None)
@given(SIGNS, st.sets(st.sampled_from(range(len(EVERY))), min_size=2, max_size=5))
def test_without_an_instruction_the_others_are_followed_as_before(
    text: str, some: set[int]
) -> None:
    asked = [EVERY[i] for i in sorted(some)]
    followed = grade_instructions(text, asked, "Say hi.").metadata["followed"]
    for gone in range(len(asked)):
        rest = asked[:gone] + asked[gone + 1 :]
        left = grade_instructions(text, rest, "Say hi.").metadata["followed"]
        assert left == followed[:gone] + followed[gone + 1 :]


# -- prompts that are drawn ----------------------------------------------------------------------


def drawn_kinds(number: int = 250, **wanted: Any) -> set[str]:
    task = ChatTask(**wanted)
    problems = [task.sample(np.random.default_rng(seed)) for seed in range(number)]
    for problem in problems[:60]:
        assert task.score(problem, problem.answer).score == 1.0, problem
        assert task.score(problem, "").score == 0.0
    return {kind for problem in problems for kind, _ in problem.instructions}


@pytest.mark.parametrize("name", ["ifbench", "ifrlvr"])
def test_kinds_that_are_held_out_are_asked_for_in_tests_only(name: str) -> None:
    held = HELD_OUT & SETS[name].keys()
    assert held
    assert not drawn_kinds(instructions=name) & held
    assert drawn_kinds(instructions=name, split="test") == held
    assert drawn_kinds(600, instructions=name, split="all") > held


def test_a_kind_that_is_named_is_trained_on() -> None:
    assert drawn_kinds(40, instructions="ifbench", kinds="format:thesis") == {"format:thesis"}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"instructions": "ifband"}, "one of ifeval, ifbench, ifrlvr"),
        ({"instructions": "ifbench", "most": 2}, "one instruction a prompt"),
        ({"instructions": "ifbench", "kinds": "format:emojis"}, "Did you mean 'format:emoji'"),
        ({"instructions": "ifbench", "kinds": "custom:multiples", "split": "test"}, "no prompt of"),
        ({"verdict": "lax"}, "'strict' or 'loose'"),
        ({"official": True}, "give dataset="),
    ],
)
def test_settings_of_instructions_out_of_range(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        ChatTask(**wrong)


def test_rows_of_ifbench_are_read(tmp_path: Path) -> None:
    row = {"prompt": "Name two birds. Do not use whitespace.", "key": "1",
           "instruction_id_list": ["format:no_whitespace", "count:numbers"],
           "kwargs": [{"N": None}, {"N": 0.0}]}  # fmt: skip
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    task = ChatTask(dataset=str(path))
    assert task.score(task.problem(0), "Robin,wren,and,some,more").score == 1.0
    loose = ChatTask(dataset=str(path), verdict="loose")
    birds = "Here they are:\nRobin,wren,and,some,more"
    assert task.score(task.problem(0), birds).score == 0.5
    assert loose.score(loose.problem(0), birds).score == 1.0
