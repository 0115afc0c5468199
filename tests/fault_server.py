"""A small Tinker-compatible service with a toy model and scripted faults, for the tests.

It speaks the JSON endpoints that the real SDK calls, on loopback. The model is a table: the
logits of the next token are ``base[previous token] + bias``, and training moves ``bias`` with
Adam. All of it is deterministic, so a run that met faults can be compared bit for bit with one
that met none. Like SkyRL 0.3.0 it does *not* recognise a repeated request.
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import socket
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from toy_model import MODEL, VOCABULARY, Model

GOOD_KEYS = ("tml-good-key", "sk-good-key", "plain-good-key")
JWT = "eyJhbGciOiJub25lIn0.{}.x".format(
    base64.urlsafe_b64encode(b'{"exp": 4102444800}').decode().rstrip("=")
)


class Refused(Exception):
    """An answer other than 200."""

    def __init__(self, status: int, detail: Any) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


@dataclass
class Fault:
    """What happens to one request instead of (or after) being carried out.

    Args:
        status: answer this and do nothing.
        headers: of that answer.
        after: carry the request out, then misbehave.
        drop: close the connection without an answer.
        sleep_s: wait first.
        body: send these bytes as a JSON answer.
    """

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    after: bool = False
    drop: bool = False
    sleep_s: float = 0.0
    body: bytes | None = None


class Service:
    """The state of the service and its script of faults; ``url`` is where it listens."""

    def __init__(self) -> None:
        self.disk: dict[str, Model] = {}  # saved states and weights outlive a restart
        self.requests: list[tuple[str, dict[str, Any], dict[str, str]]] = []
        self.script: dict[str, deque[Fault]] = defaultdict(deque)
        self.hooks: dict[str, Callable[[], None]] = {}
        self.refused_losses = {"dro"}
        self.jwt = False
        self.logprobs = True
        self.stops = True
        self.deletes = True
        self.delays: Callable[[str], float] = lambda path: 0.0  # until the result is there, seconds
        self.busy_until = 0.0  # updates are worked on one after the other
        self.beside = 0  # samples that were being drawn when an update came
        self.gate: threading.Barrier | None = None  # holds samples till so many are in flight
        self._lock = threading.RLock()
        self._forget()
        self._listen(0)

    # -- life ---------------------------------------------------------------------------------

    def _forget(self) -> None:
        self.models: dict[str, Model] = {}
        self.samplers: dict[str, Model] = {}
        self.futures: dict[str, Any] = {}
        self.ready: dict[str, float] = {}  # when a result that takes time is there
        self.sessions: set[str] = set()
        if not hasattr(self, "_ids"):
            self._ids = itertools.count(1)

    def _listen(self, port: int) -> None:
        self._sockets: list[socket.socket] = []
        handler = type("Handler", (_Handler,), {"service": self})
        self._server = _Server(("127.0.0.1", port), handler)
        self._server.service = self
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def stop(self) -> None:
        """Die: nobody listens, and every open connection breaks."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()
        for connection in self._sockets:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def start(self, keep: bool) -> None:
        """Come back on the same port, with or without the models that were in memory."""
        if not keep:
            self._forget()
        self._listen(self.port)

    def fail(self, path: str, *faults: Fault) -> None:
        """Let the next requests to ``path`` fail one after the other, as ``faults`` say."""
        self.script[path].extend(faults)

    def count(self, path: str) -> int:
        return sum(p == path for p, _, _ in self.requests)

    def bodies(self, path: str) -> list[dict[str, Any]]:
        return [body for p, body, _ in self.requests if p == path]

    # -- endpoints ----------------------------------------------------------------------------

    def answer(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> Any:
        with self._lock:
            self._check_key(path, headers)
            if path.startswith("training_runs/"):
                return self._delete(path.removeprefix("training_runs/"))
            endpoint = getattr(self, "do_" + path.strip("/").replace("/", "_"), None)
            if endpoint is None:
                raise Refused(404, f"no such endpoint: {path}")
            return endpoint(body)

    def _check_key(self, path: str, headers: dict[str, str]) -> None:
        key = headers.get("x-api-key", "")
        raw = ("client/config", "auth/token")
        good = (JWT,) if self.jwt and path not in raw else GOOD_KEYS
        if path != "healthz" and key not in good:
            raise Refused(401, f"invalid key {key}")

    def _delete(self, path: str) -> Any:
        if not self.deletes:
            raise Refused(404, "no such endpoint")
        model, _, checkpoint = path.partition("/checkpoints/")
        del self.disk[f"tinker://{model}/{checkpoint}"]
        return {}

    def do_healthz(self, _: Any) -> Any:
        return {"status": "ok"}

    def do_client_config(self, _: Any) -> Any:
        return {"pjwt_auth_enabled": self.jwt}

    def do_auth_token(self, _: Any) -> Any:
        return {"jwt": JWT}

    def do_get_server_capabilities(self, _: Any) -> Any:
        return {"supported_models": [{"model_name": MODEL}, {"model_name": "toy/Other-2"}]}

    def do_create_session(self, _: Any) -> Any:
        session = f"session-{next(self._ids)}"
        self.sessions.add(session)
        return {"session_id": session}

    def do_session_heartbeat(self, _: Any) -> Any:
        return {}

    def do_telemetry(self, _: Any) -> Any:
        return {"status": "accepted"}

    def do_create_model(self, body: Any) -> Any:
        self._session(body)
        model_id = f"model-{next(self._ids)}"
        self.models[model_id] = Model(rank=body["lora_config"]["rank"])
        return self._later({"model_id": model_id, "type": "create_model"})

    def do_get_info(self, body: Any) -> Any:
        self._model(body)
        return {
            "model_id": body["model_id"],
            "model_data": {"model_name": MODEL, "tokenizer_id": "nowhere/no-such-tokenizer"},
        }

    def do_create_sampling_session(self, body: Any) -> Any:
        self._session(body)
        path = body.get("model_path")
        if path is not None and path not in self.disk:
            raise Refused(404, f"no checkpoint {path}")
        return {"sampling_session_id": self._sampler(self.disk[path] if path else Model())}

    def do_asample(self, body: Any) -> Any:
        model = self.samplers.get(body["sampling_session_id"])
        if model is None:
            raise Refused(404, "no such sampling session")
        prompt = [t for c in body["prompt"]["chunks"] for t in c["tokens"]]
        params = body["sampling_params"]
        answer: dict[str, Any] = {
            "type": "sample",
            "sequences": [
                self._sequence(model, prompt, params, params.get("seed", 0) + i)
                for i in range(body["num_samples"])
            ],
        }
        if body.get("prompt_logprobs"):
            table = model.logprobs(np.asarray(prompt[:-1], dtype=int))
            picked = table[np.arange(len(prompt) - 1), prompt[1:]]
            answer["prompt_logprobs"] = [None, *map(float, picked)]
        return self._later(answer, "asample")

    def _sequence(self, model: Model, prompt: list[int], params: Any, seed: int) -> Any:
        rng, tokens, logprobs = np.random.default_rng(seed), [], []
        stops = (params.get("stop") or []) if self.stops else []
        for _ in range(params["max_tokens"]):
            table = model.logprobs(np.asarray([(prompt + tokens)[-1]]))[0]
            heat = params["temperature"]
            token = int(
                table.argmax()
                if heat == 0
                else (table / heat + rng.gumbel(size=VOCABULARY)).argmax()
            )
            tokens.append(token)
            logprobs.append(float(table[token]))
            if token in stops or (token < 128 and chr(token) in stops):
                break
        reason = "length" if len(tokens) == params["max_tokens"] else "stop"
        return {
            "tokens": tokens,
            "logprobs": logprobs if self.logprobs else None,
            "stop_reason": reason,
        }

    def do_forward_backward(self, body: Any) -> Any:
        model, given = self._model(body), body["forward_backward_input"]
        self._loss(given["loss_fn"])
        now = time.monotonic()
        self.beside += sum(ready > now for ready in self.ready.values())
        return self._later(model.forward_backward(given["data"]), "forward_backward")

    def do_forward(self, body: Any) -> Any:
        given = body["forward_input"]
        self._loss(given["loss_fn"])
        return self._later(self._model(body).copy().forward_backward(given["data"]))

    def do_optim_step(self, body: Any) -> Any:
        return self._later(self._model(body).optim_step(body["adam_params"]))

    def do_save_weights(self, body: Any) -> Any:
        path = f"tinker://{body['model_id']}/weights/{body['path']}"
        self.disk[path] = self._model(body).copy()
        return self._later({"path": path, "type": "save_weights"})

    def do_save_weights_for_sampler(self, body: Any) -> Any:
        model = self._model(body).copy()
        if body.get("path") is None:
            return self._later({"sampling_session_id": self._sampler(model)})
        path = f"tinker://{body['model_id']}/sampler_weights/{body['path']}"
        if path in self.disk:
            raise Refused(409, f"{path} exists")
        self.disk[path] = model
        return self._later({"path": path})

    def do_weights_info(self, body: Any) -> Any:
        if body["tinker_path"] not in self.disk:
            raise Refused(404, f"no checkpoint {body['tinker_path']}")
        rank = self.disk[body["tinker_path"]].rank
        return {"base_model": MODEL, "is_lora": True, "lora_rank": rank}

    def do_load_weights(self, body: Any) -> Any:
        saved = self.disk[body["path"]].copy()
        if not body["optimizer"]:
            saved = Model(bias=saved.bias, rank=saved.rank)
        self._model(body)
        self.models[body["model_id"]] = saved
        return self._later({"path": body["path"]})

    def do_retrieve_future(self, body: Any) -> Any:
        if body["request_id"] not in self.futures:
            raise Refused(404, "no such future")
        return self.futures[body["request_id"]]

    def hold(self, path: str, body: dict[str, Any]) -> None:
        """Wait, as a service does, until the result that is asked for is there."""
        if path == "retrieve_future":
            ready = self.ready.get(body.get("request_id", ""), 0.0)
            time.sleep(max(0.0, ready - time.monotonic()))

    # -- helpers ------------------------------------------------------------------------------

    def _later(self, result: Any, path: str = "") -> Any:
        request_id = f"request-{next(self._ids)}"
        if (delay := self.delays(path)) > 0:
            now = time.monotonic()
            if path != "asample":
                now = max(now, self.busy_until)
                self.busy_until = now + delay
            self.ready[request_id] = now + delay
        self.futures[request_id] = result
        return {"request_id": request_id}

    def _loss(self, name: str) -> None:
        if name in self.refused_losses:
            raise Refused(422, [{"loc": ["loss_fn"], "msg": f"unknown {name}"}])

    def _session(self, body: Any) -> None:
        if body["session_id"] not in self.sessions:
            raise Refused(404, "Session not found")

    def _model(self, body: Any) -> Model:
        if body["model_id"] not in self.models:
            raise Refused(404, "Model not found")
        return self.models[body["model_id"]]

    def _sampler(self, model: Model) -> str:
        name = f"sampler-{next(self._ids)}"
        self.samplers[name] = model
        return name


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    service: Service

    def process_request(self, request: Any, client_address: Any) -> None:
        self.service._sockets.append(request)
        super().process_request(request, client_address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # broken connections are what this server is for


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    service: Service

    def log_message(self, *_: Any) -> None:
        pass

    def do_DELETE(self) -> None:
        self._serve()

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        service, path = self.service, self.path.removeprefix("/api/v1/")
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        headers = {name.lower(): value for name, value in self.headers.items()}
        service.requests.append((path, body or {}, headers))
        if path in service.hooks:
            service.hooks.pop(path)()
        service.hold(path, body)
        if service.gate is not None and path == "asample":
            service.gate.wait()
        fault = service.script[path].popleft() if service.script[path] else Fault(after=True)
        self._misbehave(fault, path, body, headers)

    def _misbehave(self, fault: Fault, path: str, body: Any, headers: dict[str, str]) -> None:
        time.sleep(fault.sleep_s)
        status, answer = fault.status, b'{"detail": "scripted"}'
        if fault.after or not (fault.status or fault.drop or fault.body):
            done, answer = self._answer(path, body, headers)
            status = fault.status or done
        if fault.drop:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self._reply(status or 200, fault.headers, answer if fault.body is None else fault.body)

    def _answer(self, path: str, body: Any, headers: dict[str, str]) -> tuple[int, bytes]:
        try:
            return 200, json.dumps(self.service.answer(path, body, headers)).encode()
        except Refused as refused:
            return refused.status, json.dumps({"detail": refused.detail}).encode()

    def _reply(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
