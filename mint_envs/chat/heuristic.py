"""The reward of MinT's chat demo, for comparison only: it can be gamed.

Forty different nonsense words and two full stops earn 1.0; a good answer of twelve words earns
0.5. Train on instructions, or with a judge.
"""

from __future__ import annotations

from ..core import Reward


def quickstart_heuristic(response: str) -> Reward:
    """Return 0.4 for length (20 to 100 words), 0.3 for two full stops, 0.3 for varied words.

    10 to 19, and 101 to 150, words earn 0.2 for length; words are varied if more than half of
    them differ.
    """
    words = response.split()
    count = len(words)
    length = 1.0 if 20 <= count <= 100 else 0.5 if 10 <= count <= 150 else 0.0
    stops = float(response.count(".") >= 2)
    varied = float(len({word.lower() for word in words}) * 2 > count > 0)
    parts = {"length": length, "full_stops": stops, "varied": varied}
    return Reward(min(1.0, (4 * length + 3 * stops + 3 * varied) / 10), parts)
