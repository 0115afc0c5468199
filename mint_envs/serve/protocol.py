"""uvicorn's HTTP/1.1 protocol, with limits on clients that are slow or only half there.

uvicorn waits for ever for the head of a request, and for ever for a client to take its answer.
"""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.h11_impl import H11Protocol

from .settings import Settings

_TOO_MANY = (
    b"HTTP/1.1 429 Too Many Requests\r\nretry-after: 5\r\nconnection: close\r\n"
    b"content-type: application/json\r\ncontent-length: 35\r\n\r\n"
    b'{"detail":"too many connections."}\n'
)


class Protocol(H11Protocol):  # type: ignore[misc]
    """A connection. ``settings`` is put in by ``limited``."""

    settings: Settings
    _timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None
    idle_since = 0.0  # of the loop's clock

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.settings.max_connections and not self._made_room():
            transport.write(_TOO_MANY)
            transport.close()
            return
        self.idle_since = self.loop.time()
        self._await_head()

    def _made_room(self) -> bool:
        """Close the connection that has been without a request for the longest, if one is."""
        idle = [one for one in self.connections if one.is_idle]
        if not idle:
            return False
        min(idle, key=lambda one: one.idle_since).transport.abort()
        return True

    @property
    def is_idle(self) -> bool:
        """Whether no request is worked on, nor its answer on the way."""
        return (
            not self._answering
            and not self.transport.is_closing()
            and not self.transport.get_write_buffer_size()
            and self.idle_since > 0.0
        )

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_has_come()
        self._writing_goes_on()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._answering:
            self._head_has_come()
        elif self._timer is None:
            self._await_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self.idle_since = self.loop.time()
        if self.transport.is_closing() and self.transport.get_write_buffer_size():
            self.loop.call_later(self.settings.write_s, self.transport.abort)
        if not self._answering and self._timer is None and self.conn.trailing_data[0]:
            self._await_head()  # the head of a next request had begun to come

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(self.settings.write_s, self.transport.abort)

    def resume_writing(self) -> None:
        self._writing_goes_on()
        super().resume_writing()

    @property
    def _answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _await_head(self) -> None:
        self._timer = self.loop.call_later(self.settings.read_s, self._late)

    def _head_has_come(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _writing_goes_on(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _late(self) -> None:
        self._timer = None
        if not self._answering:
            self.transport.abort()


def limited(settings: Settings) -> type[Protocol]:
    """Return the protocol class with these settings."""
    return type("LimitedProtocol", (Protocol,), {"settings": settings})
