"""Verification: the answer is right or it is not, and a program can tell which.

mint-envs play verification:example/Clock-v0 --show-answer
mint-grpo verification:example/Clock-v0
"""

import re
from typing import Annotated

import mint_envs
from mint_envs import Reward, Task
from mint_envs.errors import require


class Clock(Task[tuple[int, int, int]]):
    """What time is it so many minutes later?"""

    stop = ("\n",)

    def __init__(self, most: Annotated[int, "largest number of minutes, 1 to 1000"] = 90) -> None:
        require(1 <= most <= 1000, f"most={most} must be from 1 to 1000")
        self.most = most

    def sample(self, rng):
        return int(rng.integers(24)), int(rng.integers(60)), int(rng.integers(1, self.most + 1))

    def prompt(self, problem):
        hour, minute, later = problem
        return (
            "Q: It is 09:50. What time is it 15 minutes later?\nA: 10:05\n\n"
            f"Q: It is {hour:02}:{minute:02}. What time is it {later} minutes later?\nA:"
        )

    def score(self, problem, response):
        # One time and no other word: several times, and "not 21:25", earn nothing.
        said = response.strip().partition("\n")[0]
        given = re.fullmatch(r"(\d{1,2}):(\d\d)\.?", said, re.ASCII)
        named = f"{int(given[1]):02}:{given[2]}" if given else ""
        return Reward(float(named == self.answer(problem)), metadata={"time named": named})

    def examples(self, problem):
        hour, minute, _ = problem
        right = self.answer(problem)
        several = f"{right} or {hour:02}:{minute:02}"
        return {right: 1.0, several: 0.0, f"not {right}": 0.0, "": 0.0}

    def answer(self, problem):
        """Return the right time, as HH:MM."""
        hour, minute, later = problem
        total = (60 * hour + minute + later) % (24 * 60)
        return f"{total // 60:02}:{total % 60:02}"


mint_envs.register("example/Clock-v0", Clock)
