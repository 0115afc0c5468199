"""Meaningless policies for mint/Chat-v0: they follow every instruction, and answer nothing.

Each is a function of the problem. What they say is laid out by the composer of worked answers, so
that form is not what they lack.

    python -m tests.policies_chat            # the mean reward of each over 2,000 problems
    python -m tests.policies_chat ifrlvr 300 # with instructions="ifrlvr", over 300
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from mint_envs.chat import ChatProblem, ChatTask
from mint_envs.chat.compose import candidates
from mint_envs.chat.instructions import grade_said
from mint_envs.chat.makers import MAKERS, Scene
from mint_envs.chat.topics import TOPICS, Topic

#: Sentences about nothing in particular, in plain English.
FIXED = (
    "The kettle told the doctor that the ladder was late.",
    "Every doctor in the corner has a kettle and a green chair.",
    "My uncle keeps a ladder for the mayor of the next town.",
    "We put the chair under the stairs because it was Tuesday.",
    "A green kettle is never as loud as a doctor with a drum.",
    "The mayor of the town said that the drum was for sale.",
)


def _named(topic: Topic) -> str:
    return topic.name.removeprefix("the ")


def _seed(problem: ChatProblem) -> np.random.Generator:
    return np.random.default_rng(list(problem.prompt.encode()))


def _laid_out(problem: ChatProblem, sentences: tuple[str, ...]) -> str:
    """Return the sentences under the problem's instructions, as well as they go."""
    assert problem.topic is not None
    texts = list(_texts(problem, sentences))
    graded = [
        grade_said(text, problem.instructions, problem.request).score or 0.0 for text in texts
    ]
    return texts[int(np.argmax(graded))]


def _texts(problem: ChatProblem, sentences: tuple[str, ...]) -> Iterator[str]:
    """Yield the answer in every length that the composers know, and with the words asked for."""
    assert problem.topic is not None
    wanted = [w for _, given in problem.instructions for w in given.get("keywords", ())]
    keyword = [given["keyword"] for _, given in problem.instructions if "keyword" in given]
    more = [f"I have seen the word {word} on a sign." for word in [*wanted, *keyword * 3]]
    stock = (*more, *sentences)
    fake = Topic(problem.topic.name, stock, problem.topic.words, problem.topic.related)
    yield from candidates(fake, problem.instructions)
    for kind, given in problem.instructions[:1]:
        scene = Scene(
            Topic(fake.name, sentences, fake.words, fake.related), problem.request, _seed(problem)
        )
        try:
            yield MAKERS[kind].write(scene, dict(given))
        except (StopIteration, RuntimeError, IndexError, ValueError):
            continue


def fixed(problem: ChatProblem) -> str:
    """One text for all, with the topic named once."""
    assert problem.topic is not None
    return _laid_out(problem, (f"So much for {problem.topic.name}.", *FIXED))


def salted(problem: ChatProblem) -> str:
    """The same with the topic's words strewn in."""
    assert problem.topic is not None
    rng = _seed(problem)
    words = [_named(problem.topic), *problem.topic.words, *problem.topic.related]
    return _laid_out(problem, tuple(_strewn(rng, sentence, words) for sentence in FIXED))


def _strewn(rng: np.random.Generator, sentence: str, words: list[str]) -> str:
    found = sentence[:-1].split()
    for _ in range(3):
        found.insert(int(rng.integers(1, len(found) + 1)), words[int(rng.integers(len(words)))])
    return " ".join(found) + "."


def others(problem: ChatProblem) -> str:
    """Sentences of other problems' answers, with the topic named first."""
    assert problem.topic is not None
    rng = _seed(problem)
    rest = [s for topic in TOPICS if topic is not problem.topic for s in topic.sentences]
    chosen = [rest[int(i)] for i in rng.permutation(len(rest))[:6]]
    return _laid_out(problem, (f"I like {problem.topic.name}.", *chosen))


def paraphrased(problem: ChatProblem) -> str:
    """The request in other words, and not its answer."""
    assert problem.topic is not None
    name = problem.topic.name
    return _laid_out(problem, (
        f"You would like me to say something on {name}.",
        f"A few words about {name} is what you have asked me for.",
        f"The subject that you gave me is {name} and nothing else.",
        f"It is my task to answer your question about {name} here.",
        f"What you need from me is a text that deals with {name}.",
        f"Let me now turn to your request to talk of {name}.",
    ))  # fmt: skip


def essay(problem: ChatProblem) -> str:
    """The fixed text with the topic in the place of its things."""
    assert problem.topic is not None
    name = problem.topic.name
    return _laid_out(problem, (
        f"The kettle told the doctor that {name} can be late.",
        f"Every doctor in the corner has {name} and a green chair.",
        f"My uncle keeps {name} for the mayor of the next town.",
        f"We put {name} under the stairs because it was Tuesday.",
        f"A green kettle is never as loud as {name} with a drum.",
        f"The mayor of the town said that {name} can be had for less.",
    ))  # fmt: skip


def general(problem: ChatProblem) -> str:
    """What can be said of anything."""
    assert problem.topic is not None
    name = problem.topic.name
    return _laid_out(problem, (
        f"There are many things to consider about {name}.",
        f"All over the world {name} can play an important role in our daily lives.",
        f"Some people love {name} and others have never thought about it.",
        f"There is a long and interesting history behind {name}.",
        f"With {name} you can discover new things and enjoy your time.",
        f"Experts agree that {name} can bring many benefits to everyone.",
    ))  # fmt: skip


def shuffled(problem: ChatProblem) -> str:
    """The words of the topic and of the request in random order, as sentences."""
    assert problem.topic is not None
    topic, rng = problem.topic, _seed(problem)
    own = [_named(topic), *topic.words, *topic.related]
    words = [*own, *problem.request.lower().strip(".").split(), "is", "and", "of", "the", "to"]
    return _laid_out(problem, tuple(_sentence(rng, words) for _ in range(6)))


def _sentence(rng: np.random.Generator, words: list[str]) -> str:
    chosen = [words[int(i)] for i in rng.permutation(len(words))[: int(rng.integers(6, 12))]]
    return " ".join(chosen).capitalize() + "."


def chained(problem: ChatProblem) -> str:
    """A Markov chain over all worked answers and the request, begun at the topic's name."""
    assert problem.topic is not None
    rng = _seed(problem)
    return _laid_out(problem, tuple(_chain(problem, rng) for _ in range(6)))


def _chain(problem: ChatProblem, rng: np.random.Generator) -> str:
    assert problem.topic is not None
    after: dict[str, list[str]] = {}
    for line in (problem.request, *(s for topic in TOPICS for s in topic.sentences)):
        words = line.lower().strip(".").split()
        for word, following in pairwise(words):
            after.setdefault(word, []).append(following)
    word = _named(problem.topic)
    said = [word]
    while word in after and len(said) < 14:
        word = after[word][int(rng.integers(len(after[word])))]
        said.append(word)
    return " ".join(said).capitalize() + "."


POLICIES: dict[str, Callable[[ChatProblem], str]] = {
    policy.__name__: policy for policy in (fixed, salted, others, paraphrased)
}
#: Written later, before the gates were changed again.
LATER: dict[str, Callable[[ChatProblem], str]] = {
    policy.__name__: policy for policy in (essay, general, shuffled, chained)
}


def earned(task: ChatTask, policy: Callable[[ChatProblem], str], problems: int) -> list[float]:
    """Return what ``policy`` earns on the first problems that are drawn."""
    drawn = (task.sample(np.random.default_rng(seed)) for seed in range(problems))
    rewards = [task.score(problem, policy(problem)).score for problem in drawn]
    return [reward for reward in rewards if reward is not None]


def main(instructions: str = "ifeval", problems: str = "2000") -> None:
    task = ChatTask(instructions=instructions)  # type: ignore[arg-type]
    for name, policy in {**POLICIES, **LATER}.items():
        rewards = earned(task, policy, int(problems))
        whole = sum(reward == 1.0 for reward in rewards) / len(rewards)
        print(f"{name:12} {np.mean(rewards):.3f}  all of it: {whole:.1%}")


if __name__ == "__main__":
    main(*sys.argv[1:3])
