"""The server keeps to its own OpenAPI schema, whatever schemathesis makes of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from serving import serving

from mint_envs.processes import Processes
from mint_envs.serve import Settings


@pytest.fixture(scope="module")
def pool() -> Iterator[Processes]:
    pool = Processes(2, deadline_s=60)
    yield pool
    pool.close()


@pytest.fixture(scope="module")
def api(pool: Processes) -> Iterator[object]:
    with serving(Settings(read_s=10.0), pool) as url:
        yield schemathesis.openapi.from_url(f"{url}/openapi.json")


schema = schemathesis.pytest.from_fixture("api")

#: Checks that do not hold here, and why.
_LEFT_OUT = [
    # The schema cannot say which settings a task refuses, or which problems a data set has.
    schemathesis.checks.positive_data_acceptance,
]


@schema.parametrize()
@settings(max_examples=15, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_every_answer_is_as_the_schema_says(case: schemathesis.Case) -> None:
    case.call_and_validate(excluded_checks=_LEFT_OUT, timeout=60)
