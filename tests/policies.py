"""What a policy of the tests plays with, and the table of them by the pattern of a request."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from mint_envs.core import Episode

Step = tuple[str, dict[str, Any]]
Policy = Callable[["Player", Any], str | None]


def written(*calls: Step) -> str:
    bodies = [json.dumps({"name": name, "arguments": args}) for name, args in calls]
    return "\n".join(f"<tool_call>\n{body}\n</tool_call>" for body in bodies)


class Player:
    """Sends messages to an episode and reads what comes back."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode

    def do(self, *calls: Step) -> list[str]:
        reply = self._episode.respond(written(*calls))
        assert isinstance(reply, list), reply
        text = reply[0]["content"]
        return re.findall(r"<tool_response>\n(.*?)\n</tool_response>", text, re.DOTALL)

    def one(self, name: str, /, **arguments: Any) -> str:
        return self.do((name, arguments))[0]

    def data(self, name: str, /, **arguments: Any) -> Any:
        return json.loads(self.one(name, **arguments))

    def ask(self) -> str:
        reply = self._episode.respond("Something is missing.\nQuestion: What exactly?")
        assert isinstance(reply, list), reply
        return reply[0]["content"]


POLICY: dict[str, Policy] = {}


def on(pattern: str) -> Callable[[Policy], Policy]:
    def note(policy: Policy) -> Policy:
        POLICY[pattern] = policy
        return policy

    return note
