"""External system: another program, or a service, has the verdict; it may be down or slow.

    mint-grpo external:example/Json-v0 --url http://localhost:8000/score

What cannot be measured in time is ``Reward(None)``: trainers leave it out, and it is not a 0.
"""

import json
import subprocess
import sys
import urllib.request
from typing import Annotated

import mint_envs
from mint_envs import Reward, Task

Url = Annotated[str | None, "service that scores, in place of a program here"]
Seconds = Annotated[float, "seconds to wait for a verdict"]


class Json(Task[dict]):
    """Write a JSON object, and nothing else."""

    def __init__(self, url: Url = None, timeout_s: Seconds = 10.0) -> None:
        self.url, self.timeout_s = url, timeout_s

    def sample(self, rng):
        return {"id": int(rng.integers(1000)), "size": int(rng.integers(1000))}

    def prompt(self, problem):
        text = "Write a JSON object with id {id} and size {size}. Write only the object."
        return [{"role": "user", "content": text.format(**problem)}]

    def score(self, problem, response):
        if not response.strip().startswith("{") or len(response) > 1000:
            return Reward(0.0, metadata={"reason": "no object"})  # cheap tests come first
        try:
            found = self.ask(problem, response) if self.url else self.run(response)
        except (OSError, ValueError, LookupError, subprocess.TimeoutExpired) as error:
            return Reward(None, metadata={"reason": type(error).__name__})
        return Reward(found if self.url else float(found == problem), metadata={"reason": ""})

    def run(self, response):
        """Let a program read the response: on its standard input, never on its command line."""
        command, text = [sys.executable, "-ISm", "json.tool"], response.encode(errors="replace")
        done = subprocess.run(command, input=text, capture_output=True, timeout=self.timeout_s)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def ask(self, problem, response):
        """Send problem and response to the service; it answers {"score": number in [0, 1]}."""
        body = json.dumps({"problem": problem, "response": response}).encode()
        request = urllib.request.Request(self.url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=self.timeout_s) as answer:
            return float(json.load(answer)["score"])

    def examples(self, problem):
        return {json.dumps(problem): 1.0, json.dumps({**problem, "id": -1}): 0.0, "": 0.0}


mint_envs.register("example/Json-v0", Json)
