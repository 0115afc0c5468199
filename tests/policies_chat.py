"""Meaningless policies for mint/Chat-v0: they follow every instruction, and answer nothing.

Each is a function of the problem. What they say is laid out by the composer of worked answers, so
that form is not what they lack.

    python -m tests.policies_chat            # the mean reward of each over 2,000 problems
    python -m tests.policies_chat ifrlvr     # ... with instructions="ifrlvr"
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

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


POLICIES: dict[str, Callable[[ChatProblem], str]] = {
    policy.__name__: policy for policy in (fixed, salted, others, paraphrased)
}


def earned(task: ChatTask, policy: Callable[[ChatProblem], str], problems: int) -> list[float]:
    """Return what ``policy`` earns on the first problems that are drawn."""
    drawn = (task.sample(np.random.default_rng(seed)) for seed in range(problems))
    rewards = [task.score(problem, policy(problem)).score for problem in drawn]
    return [reward for reward in rewards if reward is not None]


def main(instructions: str = "ifeval", problems: int = 2000) -> None:
    task = ChatTask(instructions=instructions)  # type: ignore[arg-type]
    for name, policy in POLICIES.items():
        rewards = earned(task, policy, problems)
        whole = sum(reward == 1.0 for reward in rewards) / len(rewards)
        print(f"{name:12} {np.mean(rewards):.3f}  all of it: {whole:.1%}")


if __name__ == "__main__":
    main(*sys.argv[1:2])
