"""Multi-step: the environment answers every response, and pays for where the episode ends.

mint-envs play multi_step:example/Walk-v0
"""

import mint_envs
from mint_envs import Episode, Reward, Task

_MOVES = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}


class Walk(Task[tuple[int, int]]):
    """Walk from (0, 0) to a place, one step a turn. Paid: the share of the way that was gone."""

    def sample(self, rng):
        return int(rng.choice([-2, -1, 1, 2])), int(rng.integers(-2, 3))

    def prompt(self, problem):
        rules = "Walk with one word a turn: north (y+1), south (y-1), east (x+1), west (x-1)."
        return [{"role": "user", "content": f"{rules} You are at (0, 0). Go to {problem}."}]

    def start(self, problem):
        return _Walk(problem)

    def examples(self, problem):
        x, y = problem
        way = ["east" if x > 0 else "west"] * abs(x) + ["north" if y > 0 else "south"] * abs(y)
        return {tuple(way): 1.0, "": 0.0}


class _Walk(Episode):
    """One walk. It ends at the goal, at a word that is no move, or after enough steps."""

    def __init__(self, goal):
        self.goal, self.place = goal, (0, 0)
        self.left = self.way(self.place)  # no step to spare

    def way(self, place):
        return abs(self.goal[0] - place[0]) + abs(self.goal[1] - place[1])

    def respond(self, text):
        move = _MOVES.get(text.strip().lower())
        self.left -= 1
        if move is not None:
            self.place = (self.place[0] + move[0], self.place[1] + move[1])
        if move is None or self.left == 0:
            gone = max(0.0, 1 - self.way(self.place) / self.way((0, 0)))
            return Reward(gone, {"way": gone}, {"moves left": self.left})
        return f"You are at {self.place}."

    def cut(self, text):
        return Reward(0.0, {"way": 0.0}, {"moves left": self.left})


mint_envs.register("example/Walk-v0", Walk)
