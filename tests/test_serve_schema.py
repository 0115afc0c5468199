"""The server keeps to its own OpenAPI schema, whatever schemathesis makes of it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode

from mint_envs.executors import Local
from mint_envs.serve import Settings, make_app

TOKEN = "a-token-of-enough-letters"
HEADERS = {"authorization": f"Bearer {TOKEN}"}

# With a token, since without one only requests to 127.0.0.1 are answered.
schema = schemathesis.openapi.from_asgi(
    "/openapi.json", make_app(Settings(token=TOKEN), Local()), headers=HEADERS
)
OPERATIONS = [found.ok() for found in schema.get_all_operations()]

#: Requests as the schema wants them, and, where there is a body to get wrong, as it does not.
CASES = [
    (operation, mode)
    for operation in OPERATIONS
    for mode in GenerationMode
    if mode.is_positive or operation.method == "post"
]
NAMES = [f"{operation.label} {mode.value}" for operation, mode in CASES]

#: Checks that do not hold here: the schema cannot say which settings a task refuses, which
#: instructions there are, or that a token is wanted (the guard before the routes asks for it).
LEFT_OUT = [schemathesis.checks.positive_data_acceptance, schemathesis.checks.ignored_auth]


@pytest.mark.parametrize(("operation", "mode"), CASES, ids=NAMES)
def test_every_answer_is_as_the_schema_says(operation: Any, mode: GenerationMode) -> None:
    names = itertools.cycle(["mint/Math-v0", "mint/ToolUse-v0", "mint/Chat-v0", "mint/Code-v0"])

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    def check(case: Any) -> None:
        if mode.is_positive and isinstance(case.body, dict) and "env" in case.body:
            # Text at random is the name of none.
            case.body |= {"env": next(names), "settings": {}}
        answer = case.call(headers=HEADERS)
        if answer.status_code != 413:  # a refusal too: text beyond its limit can be beyond this one
            case.validate_response(answer, excluded_checks=LEFT_OUT)

    check()


def test_the_schema_has_every_route() -> None:
    assert {operation.path for operation in OPERATIONS} >= {
        "/v1/score", "/v1/prompts", "/v1/sessions", "/v1/sessions/respond",
        "/v1/sessions/close", "/v1/envs",
        "/v1/grade/math", "/v1/grade/code", "/v1/grade/tooluse", "/v1/grade/chat",
        "/healthz", "/metrics",
    }  # fmt: skip
