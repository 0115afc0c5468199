"""A chat-completions service on loopback that judges by a rule, and misbehaves by script.

It reads only what stands in the fence of a request, as an honest judge does. Which faults a
question meets before its answer is a function of the question, so that runs can be compared.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from mint_envs.chat.judge.question import read_fenced

Rule = Callable[[Mapping[str, str]], str]
Plan = Callable[[str], tuple[str, ...]]

ENDLESS = 10_000  # bytes or seconds' worth of it; ends when the client hangs up


class JudgeServer(ThreadingHTTPServer):
    """The service, and what it has seen.

    Args:
        rule: the verdict on the data of a question.
        plan: the faults that a question (by its fence) meets, one a request, before an answer;
            ``"always"`` at the end repeats the one before it for good.
        pause_s: how long an answer takes.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, rule: Rule, plan: Plan = lambda fence: (), pause_s: float = 0.0) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.rule, self.plan, self.pause_s = rule, plan, pause_s
        self.lock = threading.Lock()
        self.requests: Counter[str] = Counter()  # by fence
        self.verdicts: Counter[str] = Counter()  # good answers, by fence
        self.faults: Counter[str] = Counter()
        self.times: dict[str, list[float]] = {}
        self.strays: list[str] = []  # requests to any other path
        self.keys: set[str] = set()
        self.bodies: list[dict[str, Any]] = []
        self.now = self.peak = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is what some faults are about."""


@contextlib.contextmanager
def judge_server(
    rule: Rule, plan: Plan = lambda fence: (), pause_s: float = 0.0
) -> Iterator[JudgeServer]:
    server = JudgeServer(rule, plan, pause_s)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: JudgeServer

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path != "/v1/chat/completions":
            self.server.strays.append(self.path)
            self.reply(verdict_body("DATA-0", "bad"))
            return
        request = json.loads(body)
        fence, data = read_fenced(request["messages"])
        with self.server.lock:
            turn = self.server.requests[fence]
            self.server.requests[fence] += 1
            self.server.times.setdefault(fence, []).append(time.monotonic())
            self.server.keys.add(self.headers.get("Authorization", ""))
            self.server.bodies.append(request)
        fault = fault_of(self.server.plan(fence), turn)
        with self.server.lock:
            self.server.faults[fault] += 1
        if fault in FAULTS:
            FAULTS[fault](self, fence)
            return
        with self.counted():
            time.sleep(self.server.pause_s + (0.05 if fault == "slow" else 0.0))
            with self.server.lock:
                self.server.verdicts[fence] += 1
        self.reply(verdict_body(fence, self.server.rule(data)))

    do_GET = do_POST

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        """Count the request as being worked on; the count ends before a client sees the end."""
        with self.server.lock:
            self.server.now += 1
            self.server.peak = max(self.server.peak, self.server.now)
        yield
        with self.server.lock:
            self.server.now -= 1

    def reply(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        told = {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}
        for name, value in told.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def drop(self) -> None:
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)


def fault_of(plan: tuple[str, ...], turn: int) -> str:
    if plan[-1:] == ("always",):
        return plan[min(turn, len(plan) - 2)]
    return plan[turn] if turn < len(plan) else ""


def content_body(content: Any) -> bytes:
    message = {"role": "assistant", "content": content}
    return json.dumps({"choices": [{"index": 0, "message": message}]}).encode()


def verdict_body(fence: str, verdict: Any) -> bytes:
    return content_body(json.dumps({"fence": fence, "reason": "So it is.", "verdict": verdict}))


def _hang(handler: _Handler, fence: str) -> None:
    handler.close_connection = True
    handler.connection.settimeout(30)
    with contextlib.suppress(OSError):
        handler.connection.recv(1)  # until the client hangs up


def _drip(first: bytes, drop: bytes) -> Callable[[_Handler, str], None]:
    """Send a byte now and then, for ever: no pause is long, but the whole is."""

    def drip(handler: _Handler, fence: str) -> None:
        handler.close_connection = True
        handler.wfile.write(first)
        for _ in range(ENDLESS):
            time.sleep(0.02)
            handler.wfile.write(drop)

    return drip


def _cut(handler: _Handler, fence: str) -> None:
    body = verdict_body(fence, "bad")
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body) + 1))
    handler.end_headers()
    handler.wfile.write(body[: len(body) // 2])
    handler.drop()


def _huge(handler: _Handler, fence: str) -> None:
    handler.close_connection = True
    handler.send_response(200)
    handler.end_headers()
    for _ in range(ENDLESS):
        handler.wfile.write(b" " * 65536)


def _status(status: int, **headers: str) -> Callable[[_Handler, str], None]:
    """Answer with a status, and with a body that would be the worst verdict."""
    return lambda handler, fence: handler.reply(verdict_body(fence, "bad"), status, **headers)


def _body(make: Callable[[str], bytes], **headers: str) -> Callable[[_Handler, str], None]:
    return lambda handler, fence: handler.reply(make(fence), 200, **headers)


def _said(make: Callable[[str], Any]) -> Callable[[_Handler, str], None]:
    return _body(lambda fence: content_body(make(fence)))


def _bad(fence: str) -> str:
    return json.dumps({"fence": fence, "verdict": "bad"})


#: What can go wrong. None of it is a verdict, though much of it says "bad", which is worth 0.
FAULTS: dict[str, Callable[[_Handler, str], None]] = {
    "429": _status(429, Retry_After="0"),
    "429 with a date": _status(429, Retry_After="Thu, 01 Jan 2026 00:00:00 GMT"),
    "429 with nonsense": _status(429, Retry_After="soon"),
    "500": _status(500),
    "502": _status(502),
    "503": _status(503, Retry_After="0.01"),
    "408": _status(408),
    "redirect": _status(307, Location="/elsewhere/chat/completions"),
    "redirect to another host": _status(301, Location="http://localhost:9/v1/chat/completions"),
    "hang": _hang,
    "drop": lambda handler, fence: handler.drop(),
    "cut": _cut,
    "drip": _drip(b"HTTP/1.1 200 OK\r\n\r\n{", b" "),
    "headers drip": _drip(b"HTTP/1.1 200 OK\r\nX: ", b"x"),
    "huge": _huge,
    "no HTTP": _drip(b"SSH-2.0-OpenSSH\r\n", b"\r\n"),
    "empty": _body(lambda fence: b""),
    "HTML": _body(lambda fence: b"<html>bad</html>", Content_Type="text/html"),
    "not UTF-8": _body(lambda fence: b'{"choices": "\xff\xfe"}'),
    "not JSON": _body(lambda fence: verdict_body(fence, "bad")[:-1]),
    "deep": _body(lambda fence: b"[" * 200_000),
    "packed": _body(lambda fence: gzip.compress(b" " * 10**7), Content_Encoding="gzip"),
    "a list": _body(lambda fence: b"[0]"),
    "no choices": _body(lambda fence: b'{"choices": []}'),
    "an error": _body(lambda fence: b'{"error": {"message": "overloaded"}}'),
    "cut short": _body(lambda fence: b'{"choices": [{"finish_reason": "length", "message": '
                       b'{"content": "<think>Hm, this is bad, "}}]}'),
    "no content": _said(lambda fence: None),
    "content in parts": _said(lambda fence: [{"type": "text", "text": _bad(fence)}]),
    "words": _said(lambda fence: "The answer is bad."),
    "words before": _said(lambda fence: "Here it is: " + _bad(fence)),
    "words after": _said(lambda fence: _bad(fence) + " I am sure."),
    "two verdicts": _said(lambda fence: _bad(fence) + _bad(fence)),
    "a key twice": _said(lambda fence: _bad(fence)[:-1] + ', "verdict": "bad"}'),
    "one more key": _said(lambda fence: _bad(fence)[:-1] + ', "score": 0}'),
    "no fence": _said(lambda fence: '{"verdict": "bad"}'),
    "another fence": _said(lambda fence: _bad(fence.replace(fence[-1], "x"))),
    "no verdict": _said(lambda fence: json.dumps({"fence": fence})),
    "an unknown verdict": _said(lambda fence: json.dumps({"fence": fence, "verdict": "worst"})),
    "a number": _said(lambda fence: json.dumps({"fence": fence, "verdict": 0})),
    "a number out of range": _said(lambda fence: json.dumps({"fence": fence, "verdict": 1e99})),
    "null": _said(lambda fence: json.dumps({"fence": fence, "verdict": None})),
    "false": _said(lambda fence: json.dumps({"fence": fence, "verdict": False})),
    "a list of verdicts": _said(lambda fence: json.dumps({"fence": fence, "verdict": ["bad"]})),
    "unfinished thinking": _said(lambda fence: "<think>" + _bad(fence)),
}  # fmt: skip

#: The faults that take as long as the client lets them.
LONG = ("hang", "drip", "headers drip", "no HTTP")
