"""Messages between the two halves of a split check: JSON, its length before it."""

from __future__ import annotations

import json
import marshal
import os
import struct
from typing import Any

from .wire import Unsupported

#: What may cross at once, in bytes: a value beyond it is not measured.
MAX_MESSAGE = 64 << 20
_PIECE = 1 << 20
_LENGTH = struct.Struct("I")


class TooLarge(Unsupported):
    """A value that is plain, and too large to cross."""


def send(fd: int, message: Any) -> None:
    data = json.dumps(message, separators=(",", ":")).encode()
    if len(data) > MAX_MESSAGE:
        raise TooLarge("a value too large")
    send_bytes(fd, data)


def send_bytes(fd: int, data: bytes) -> None:
    view = memoryview(_LENGTH.pack(len(data)) + data)
    while view:
        view = view[os.write(fd, view) :]


def receive(fd: int) -> Any:
    return receive_measured(fd)[1]


def send_batch(fd: int, message: Any) -> None:
    """Send what ``receive_request`` reads: with a sign before it that no JSON begins with."""
    send_bytes(fd, b"\0" + marshal.dumps(message, 2))


def receive_request(fd: int) -> tuple[bool, Any]:
    """Return whether a message of the tests' is a batch, and it.

    Only the tests send such: what a program sends is never read this way.
    """
    data = receive_bytes(fd)
    if data[:1] == b"\0":
        return True, marshal.loads(memoryview(data)[1:])
    return False, json.loads(data)


def receive_measured(fd: int) -> tuple[int, Any]:
    """Return a message, and how many bytes it took."""
    data = receive_bytes(fd)
    return len(data), json.loads(data)


def receive_bytes(fd: int) -> bytes:
    (length,) = _LENGTH.unpack(_exactly(fd, _LENGTH.size))
    if length > MAX_MESSAGE:
        raise Unsupported("a message too large")
    return _exactly(fd, length)


def _exactly(fd: int, length: int) -> bytes:
    data = os.read(fd, min(length, _PIECE))
    if len(data) == length:
        return data
    pieces, left = [data], length - len(data)
    while left and data:
        data = os.read(fd, min(left, _PIECE))
        pieces.append(data)
        left -= len(data)
    if left:
        raise EOFError("the other side has ended")
    return b"".join(pieces)
