"""/metrics of several processes: the sum of what each has counted, ended ones included."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from test_server_processes import command, members, until

from mint_envs.client import Client
from mint_envs.serve.numbers import SharedNumbers, fold

LABELS = st.sampled_from(["a", 'b"', "c\n"])
EVENTS = st.lists(st.tuples(st.integers(0, 3), LABELS, st.integers(0, 9)), max_size=30)
#: After an event, processes that end.
ENDS = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 3)), max_size=3)


class Telling:
    """The numbers of one process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.counter = Counter("requests", "so many", ["label"], registry=self.registry)
        self.seconds = Histogram("seconds", "of each", ["label"], registry=self.registry)
        self.open = Gauge("open", "now", registry=self.registry)

    def note(self, label: str, value: int) -> None:
        self.counter.labels(label).inc(value)
        self.seconds.labels(label).observe(value)
        self.open.inc(value)


def told(registry: object) -> dict[object, float]:
    """Return what a page says, by name and labels; when a number began is left out."""
    text = generate_latest(registry).decode()  # type: ignore[arg-type]
    samples = (s for family in text_string_to_metric_families(text) for s in family.samples)
    return {
        (one.name, *sorted(one.labels.items())): one.value
        for one in samples
        if not one.name.endswith("_created")
    }


@given(events=EVENTS, ends=ENDS)
def test_the_sum_is_what_one_process_would_have_counted(
    events: list[tuple[int, str, int]],
    ends: list[tuple[int, int]],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("numbers")
    whole, parts = Telling(), [Telling() for _ in range(4)]
    shared = [SharedNumbers(folder / str(i), one.registry) for i, one in enumerate(parts)]
    over: set[int] = set()
    for at, (place, label, value) in enumerate(events):
        place = 0 if place in over else place
        parts[place].note(label, value)
        whole.note(label, value)
        shared[place].write()
        for number in {number for after, number in ends if after == at} - over:
            whole.open.dec(parts[number].open._value.get())
            fold(folder / str(number))
            over.add(number)
    assert told(shared[0]) == told(whole.registry)
    assert not [path for path in folder.iterdir() if path.suffix == ".new"]


def test_a_half_written_file_and_one_that_never_was(tmp_path: Path) -> None:
    one = Telling()
    one.note("a", 3)
    (tmp_path / "2.new").write_text('{"fam')  # killed while it wrote
    fold(tmp_path / "3")  # ended before it wrote
    assert told(SharedNumbers(tmp_path / "1", one.registry)) == told(one.registry)


@pytest.mark.slow
def test_every_process_tells_the_numbers_of_all(tmp_path: Path) -> None:
    options = ("--processes", "2", "--offer", "mint/Math-v0")
    with command(tmp_path, *options) as (url, process, _):

        def all_count(rewards: int) -> bool:
            found = [httpx.get(f"{url}/metrics").text.splitlines() for _ in range(8)]
            wanted = 'mint_rewards_total{env="mint/Math-v0",measured="yes"}'
            return all(f"{wanted} {rewards}.0" in one for one in found) and all(
                "mint_processes 2.0" in one for one in found
            )

        for seed in range(20):
            with Client(url) as client:  # a connection of its own: any process may take it
                client.score("mint/Math-v0", [(seed, "x")])
        until(lambda: all_count(20))
        first = {member.pid for member in members(process)}
        os.kill(min(first), signal.SIGKILL)
        until(lambda: len(members(process)) == 2 and min(first) not in pids(process))
        process.send_signal(signal.SIGHUP)
        until(lambda: not first & pids(process) and len(members(process)) == 2)
        until(lambda: all_count(20))


def pids(process: object) -> set[int]:
    return {member.pid for member in members(process)}  # type: ignore[arg-type]
