"""Gates that look at the topic: meaningless policies earn little, honest answers pass."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mint_envs.chat import ChatProblem, ChatTask
from mint_envs.chat.about import beside_the_topic
from mint_envs.chat.gates import is_broken
from mint_envs.chat.topics import TOPICS, Topic
from tests.policies_chat import LATER, POLICIES, earned

pytestmark = pytest.mark.quick

TASK = ChatTask()
MOST = 0.1


@pytest.mark.parametrize("policy", [*POLICIES.values(), LATER["essay"], LATER["general"]])
def test_a_meaningless_policy_earns_next_to_nothing(
    policy: Callable[[ChatProblem], str],
) -> None:
    assert np.mean(earned(TASK, policy, 250)) <= MOST


@pytest.mark.parametrize("name", ["shuffled", "chained"])
def test_words_in_no_order_earn_less_than_half(name: str) -> None:
    assert np.mean(earned(TASK, LATER[name], 120)) < 0.5


#: What models and people say; own wording.
HONEST = {
    "tea": (
        "Green tea calms me in the morning.",
        "My grandmother drinks it with milk, and she says that it warms her hands.",
        "You brew the leaves in hot water for three minutes. Then you add honey, if you like.",
    ),
    "bicycles": (
        "Bicycles are a wonderful way to explore the world.",
        "You sit on a saddle and push two pedals. A chain turns the wheel, and off you go!",
    ),
    "the moon": (
        "The moon is a ball of rock that goes round the earth and shines at night.",
        "Imagine a big grey stone in the sky. It has no light of its own; the sun lights it up.",
        "It pulls at our oceans, which is why we have tides.",
    ),
    "mountains": (
        "mountains are a wide and mysterious place.",
        "I climbed one last summer. The path was steep, with snow near the top, and the view was "
        "the best that I have ever had.",
    ),
    "chess": (
        "Two players move pieces on a board, and each tries to trap the king of the other.",
        "Chess teaches you to think ahead.",
    ),
    "sleep": (
        "After a good night you learn more easily, for the brain sorts what it saw by day.",
        "Sleep is when your body rests and you dream.",
    ),
    "cats": ("They purr, they nap in the sun, and they hunt mice at night.",),
    "gardens": ("Plant some seeds in spring, water them, and pull out the weeds.",),
    "the sea": ("Salt water as far as you can see, with waves that never stop.",),
    "libraries": ("You can borrow books there for free, and read in a quiet corner.",),
    "rain": ("Drops fall from the clouds and the plants drink them.",),
    "bread": ("Mix flour, water and yeast, knead the dough and bake it until the crust is brown.",),
    "trains": ("They run on rails, stop at stations and carry many passengers at once.",),
    "bees": ("They fly from flower to flower, collect nectar and make honey of it in the hive.",),
    "swimming": ("It trains your whole body, and the water carries your weight.",),
    "music": ("A good song can make you dance, or cry, and you remember the tune for years.",),
}  # fmt: skip
#: Honest, and about the topic among other things.
WANDERING = {
    "bicycles": "My sister gave me my first bike when I was six. I fell off, and she laughed.",
    "bread": "Our baker gets up at three. When I go to school the loaves are still warm.",
    "cats": "Snow leopards and lions are cats too. They have soft paws, thick fur and sharp teeth.",
    "libraries": "Ours lends out games and tools, not only books, and students study there.",
    "mountains": "Few people live so high up. Roads are bad in winter, and goats eat what grows.",
    "rain": "Rain drums on our roof like tiny feet, and the streets shine as if they were new.",
}
#: Said of anything; or words of the topic in no order.
EMPTY = (
    "There are many things to know about {0}.",
    "All over the world {0} can play an important role in our lives.",
    "It is hard to think of a life without {0} and that is a fact.",
)
DISORDER = (
    "Of cup someone leaves the think and tea is the.",
    "The rain umbrella is clouds of and the to sky is about.",
    "Pawn the of board is queen a to chess and.",
)


@pytest.mark.parametrize("name", WANDERING)
def test_an_answer_may_speak_of_other_things_too(name: str) -> None:
    topic = next(topic for topic in TOPICS if topic.name == name)
    assert beside_the_topic(WANDERING[name], f"Describe {name}.", topic) == ""


@pytest.mark.parametrize("text", EMPTY)
def test_what_can_be_said_of_anything_says_nothing(text: str) -> None:
    passed = [
        topic.name
        for topic in TOPICS
        if not beside_the_topic(text.format(topic.name), f"Describe {topic.name}.", topic)
    ]
    assert len(passed) <= 3, passed  # one plays with cats, music and chess


@pytest.mark.parametrize("text", DISORDER)
def test_small_words_in_no_order_are_no_sentence(text: str) -> None:
    assert is_broken(text)
    assert not is_broken("What is it for? It is what the two of us look at and listen to.")


NONSENSE = (
    "So much for {0}.",
    "You asked me for a few words about {0} and here they are.",
    "I have seen the word {0} on a sign. The kettle told the doctor that it was late.",
    "Every doctor in the corner has a kettle and {0} and a green chair.",
    "I like {0}. The driver told the mayor that the ladder was for sale.",
    "{0} {0} {0} and my uncle put the drum under the stairs on Tuesday.",
)


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: str(topic.name))
def test_honest_short_answers_are_about_their_topic(topic: Topic) -> None:
    assert HONEST.keys() == {one.name for one in TOPICS}
    for text in HONEST[topic.name]:
        assert beside_the_topic(text, f"Describe {topic.name}.", topic) == "", text


@pytest.mark.parametrize("text", NONSENSE)
def test_nonsense_that_names_the_topic_is_not_about_it(text: str) -> None:
    passed = [
        topic.name
        for topic in TOPICS
        if not beside_the_topic(text.format(topic.name), f"Describe {topic.name}.", topic)
    ]
    assert len(passed) <= 1, passed  # a kettle is about tea, and a driver about trains


def test_a_list_of_the_topic_s_words_is_no_answer() -> None:
    for topic in TOPICS:
        listed = " ".join([*topic.words, *topic.related])
        assert beside_the_topic(f"It is {listed} and so on.", "Describe it.", topic) != ""


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(max_size=60), min_size=1, max_size=5))
def test_a_gate_is_the_same_alone_and_in_a_batch(texts: list[str]) -> None:
    problems = [TASK.sample(np.random.default_rng(seed)) for seed in range(3)]
    pairs = [(p, text) for p in problems for text in (*texts, p.answer)]
    together = TASK.score_batch(pairs)
    assert [TASK.score(*pair) for pair in pairs] == together
    assert TASK.score_batch(pairs[::-1]) == together[::-1]
