"""A chat-completions endpoint on loopback whose model is a function. Standard library only."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@contextmanager
def serve(policy: Callable[[list[dict[str, Any]]], str]) -> Iterator[str]:
    """Serve ``policy(messages) -> text``; give the base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            streamed = bool(body.get("stream"))
            message = {"role": "assistant", "content": policy(body["messages"])}
            answer = {
                "id": "1",
                "object": "chat.completion" + ".chunk" * streamed,
                "created": 0,
                "model": body["model"],
                "choices": [
                    {
                        "index": 0,
                        "delta" if streamed else "message": message,
                        "finish_reason": "stop",
                    }
                ],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
            }
            written = json.dumps(answer)
            data = (f"data: {written}\n\ndata: [DONE]\n\n" if streamed else written).encode()
            self.send_response(200)
            kind = "text/event-stream" if streamed else "application/json"
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
