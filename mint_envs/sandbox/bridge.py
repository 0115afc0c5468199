"""Runs in a container: takes jobs on stdin, gives outcomes on stdout. Standard library only.

A frame is four bytes of length and that much JSON. Jobs run in a pool of zygotes as they do
outside; the container is the outer wall, Landlock (where the kernel has it), the filter of system
calls and the limits are the inner one, between a program and the bridge.
"""

from __future__ import annotations

import base64
import json
import struct
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, fields
from typing import IO, Any

from .pool import Pool
from .port import Job, Limits, Outcome


def read_frame(stream: IO[bytes]) -> Any:
    """Return the next message, or None at the end."""
    head = stream.read(4)
    if len(head) < 4:
        return None
    (length,) = struct.unpack(">I", head)
    body = stream.read(length)
    return json.loads(body) if len(body) == length else None


def write_frame(stream: IO[bytes], message: Any) -> None:
    body = json.dumps(message).encode()
    stream.write(struct.pack(">I", len(body)) + body)
    stream.flush()


def job_to(job: Job) -> dict[str, Any]:
    """Return it as JSON can hold it, without what most jobs do not have."""
    told = asdict(job)
    unused = {name for name in ("arguments", "files", "roles", "classes") if not told[name]}
    unused |= set() if job.names else {"first", "names"}
    return {name: value for name, value in told.items() if name not in unused}


def job_from(data: Mapping[str, Any]) -> Job:
    values = {**data, "limits": Limits(**data["limits"])}
    for key in ("calls", "stubs", "arguments"):
        values[key] = tuple(values.get(key, ()))
    for key in ("steps", "files", "roles", "classes"):
        values[key] = tuple((one, other) for one, other in values.get(key, ()))
    whose = values.get("names", ())
    values["names"] = tuple(tuple(tuple(group) for group in names) for names in whose)
    return Job(**values)


def outcome_to(outcome: Outcome) -> dict[str, Any]:
    """Return it as JSON can hold it. The records nest as a program likes: nothing recurses here."""
    values = {part.name: getattr(outcome, part.name) for part in fields(outcome)}
    records = [[index, kind, payload] for index, (kind, payload) in outcome.records.items()]
    stdout = base64.b64encode(outcome.stdout).decode()
    return {**values, "records": records, "stdout": stdout}


def outcome_from(data: Mapping[str, Any]) -> Outcome:
    records = {index: (kind, payload) for index, kind, payload in data["records"]}
    return Outcome(**{**data, "records": records, "stdout": base64.b64decode(data["stdout"])})


def main() -> None:
    """Serve until stdin closes. The first frame out is the tier, or what is missing."""
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    lock = threading.Lock()
    try:
        pool = Pool("container", int(sys.argv[1]))
    except Exception as error:
        write_frame(stdout, {"error": str(error)})
        return
    write_frame(stdout, {"ready": pool.tier})

    def serve(number: int, job: Job) -> None:
        try:
            outcome = outcome_to(pool.run([job])[0])
        except Exception as error:  # the other side waits for an answer
            outcome = outcome_to(Outcome(failure=f"{type(error).__name__}: {error}"))
        with lock:
            write_frame(stdout, {"id": number, "outcome": outcome})

    with ThreadPoolExecutor(pool.workers) as threads:
        while (message := read_frame(stdin)) is not None:
            threads.submit(serve, message["id"], job_from(message["job"]))
    pool.close()
