"""Writes the contract of the server's wire: ``python -m tests.make_wire``.

``docs/openapi.json`` is the schema of the requests and answers. ``tests/data/wire/v1.jsonl`` holds
exchanges as a client of this version has them; a server of any later release must answer these
requests in these shapes, until the number of the wire changes. So lines are added, and none is
changed: the file is written only where it is not there.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from mint_envs.executors import Local
from mint_envs.serve import Settings, make_app
from mint_envs.serve.references import WIRE

HERE = Path(__file__).parent
SCHEMA = HERE.parent / "docs" / "openapi.json"
EXCHANGES = HERE / "data" / "wire" / f"v{WIRE}.jsonl"

_THEIRS = ("metadata", "parts", "settings")  # what is in them depends on the environment
CALL = {"name": "a", "arguments": {"x": 1}}
PROGRAM = {"response": "def f(x):\n    return x + 1", "tests": [["f(1)", 2]]}
#: What clients of this version send. ``$session`` is what the answer before it gave.
REQUESTS: list[tuple[str, str, Any]] = [
    ("GET", "/healthz", None),
    ("GET", "/readyz", None),
    ("GET", "/v1/envs", None),
    ("POST", "/v1/prompts", {"env": "mint/Math-v0", "problems": [{"seed": 3}, {"index": 2}]}),
    ("POST", "/v1/prompts", {"env": "mint/ToolUse-v0", "problems": [{"seed": 3}]}),
    ("POST", "/v1/score", {"env": "mint/Math-v0", "settings": {"digits": 2},
                           "items": [{"seed": 3, "response": "72"}]}),
    ("POST", "/v1/score", {"env": "mint/ToolUse-v0",
                           "items": [{"index": 3, "response": ["Answer: 7"]}]}),
    ("POST", "/v1/grade/math", {"items": [{"gold": "1/2", "response": "0.5"}]}),
    ("POST", "/v1/grade/code", {"items": [PROGRAM]}),
    ("POST", "/v1/grade/tooluse", {"items": [{"wanted": [CALL], "made": [CALL]}]}),
    ("POST", "/v1/grade/chat", {"items": [
        {"response": "none", "instructions": [["punctuation:no_comma", {}]]}]}),
    ("POST", "/v1/sessions", {"env": "mint/ToolUse-v0", "settings": {}, "seed": 1, "index": None}),
    ("POST", "/v1/sessions/respond", {"session": "$session", "response": "{\"no call\": 1}"}),
    ("POST", "/v1/sessions/close", {"session": "$session"}),
    ("POST", "/v1/sessions", {"env": "mint/Math-v0", "seed": 1}),
    ("POST", "/v1/sessions/respond", {"session": "$session", "response": "1", "cut": True,
                                      "said": []}),
    ("POST", "/v1/sessions/respond", {"session": "1.none.such", "response": "1"}),
    ("POST", "/v1/score", {"env": "mint/None-v0", "items": [{"seed": 3, "response": "72"}]}),
    ("POST", "/v1/score", {"env": "mint/Math-v0", "items": []}),
]  # fmt: skip


def client() -> TestClient:
    """Return a client of a server in this process."""
    offers = ("mint/Math-v0", "mint/ToolUse-v0", "mint/Code-v0", "mint/Chat-v0")
    return TestClient(make_app(Settings(offers=offers), Local()), base_url="http://localhost")


def exchange(server: Any, requests: list[tuple[str, str, Any]]) -> list[dict[str, Any]]:
    """Send requests, one after the other; return them with what came back."""
    found, session = [], None
    for method, path, body in requests:
        sent = body
        if body and body.get("session") == "$session":
            sent = {**body, "session": session}
        answer = server.request(method, path, json=sent)
        said = answer.json() if answer.content else None
        session = (said or {}).get("session") or session
        found.append(
            {"method": method, "path": path, "sent": body, "status": answer.status_code,
             "shape": shape(said)}
        )  # fmt: skip
    return found


def shape(value: Any) -> Any:
    """Return the kinds of values, by name; of a list, that of its first item.

    What an environment says for itself is no part of the wire.
    """
    if isinstance(value, dict):
        return {n: "object" if n in _THEIRS and one else shape(one) for n, one in value.items()}
    if isinstance(value, list):
        return [shape(one) for one in value[:1]]
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return type(value).__name__
    return "number"


def schema_text() -> str:
    """Return the schema of requests and answers, as it is in the docs."""
    found = client().get("/openapi.json").json()
    return json.dumps(found, indent=1, sort_keys=True, ensure_ascii=True) + "\n"


def main() -> None:
    """Write both files."""
    SCHEMA.write_text(schema_text(), encoding="utf-8")
    if EXCHANGES.exists():
        return
    EXCHANGES.parent.mkdir(parents=True, exist_ok=True)
    with client() as server:
        lines = [json.dumps(one, sort_keys=True) + "\n" for one in exchange(server, REQUESTS)]
    EXCHANGES.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
