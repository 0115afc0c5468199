"""A chat-completions service on loopback whose answers are a function of the request."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: Takes a request and how often it was made before; returns (status, body). Status 0: half a body
#: is sent and the connection ends; 429 carries ``Retry-After: 0``.
Answer = Callable[[dict[str, Any], int], tuple[int, Any]]


def said(text: str | None, **more: Any) -> tuple[int, Any]:
    """Return a completion that holds ``text``."""
    return 200, {"choices": [{"message": {"content": text, **more}, "finish_reason": "stop"}]}


def counted(text: str, prompt_tokens: int, tokens: int, cut: bool = False) -> tuple[int, Any]:
    """Return a completion that says how many tokens there were, and whether it was cut off."""
    status, body = said(text)
    body["usage"] = {"prompt_tokens": prompt_tokens, "completion_tokens": tokens}
    body["choices"][0]["finish_reason"] = "length" if cut else "stop"
    return status, body


@contextlib.contextmanager
def answering(answer: Answer) -> Iterator[Any]:
    """Yield the service: ``url``, and the ``bodies``, ``keys`` and ``paths`` that it has seen."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with server.lock:
                server.bodies.append(json.loads(body))
                server.keys.add(self.headers.get("Authorization"))
                server.paths.add(self.path)
                turn = server.turns[body] = server.turns.get(body, -1) + 1
            status, told = answer(json.loads(body), turn)
            content = json.dumps(told).encode()
            self.send_response(status or 200)
            self.send_header("Content-Length", str(len(content)))
            if status == 429:
                self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(content if status else content[: len(content) // 2])
            self.close_connection = not status

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 128

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that is gone, or killed, is what some tests are about."""

    server: Any = Server(("127.0.0.1", 0), Handler)
    server.lock, server.bodies, server.turns = threading.Lock(), [], {}
    server.keys, server.paths = set(), set()
    server.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
