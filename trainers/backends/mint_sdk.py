"""The SDK of the mint backend: loading it, waiting for it, and saying what went wrong."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from ..errors import BackendError
from ..later import later
from . import LoraParams

_PREFLIGHT_S = 3.0
_ADMIT_S = 10.0
T = TypeVar("T")


class Lost(BackendError):
    """The model on the service is gone, or nobody knows its state: it has to be made anew."""


class Service:
    """One service and key: sessions on it, and waits that end.

    Args:
        url, key: as MintBackend's.
        timeout_s: the longest wait for one answer, in seconds.
        retries, backoff_s: as ServiceHTTP's.

    Raises:
        BackendError: the SDK is not installed.
    """

    def __init__(
        self, url: str, key: str, timeout_s: float, retries: int, backoff_s: float
    ) -> None:
        self.url, self._key = url, key
        self.timeout_s, self._retries, self._backoff_s = timeout_s, retries, backoff_s
        self.sdk, self._http_module = _load_sdk()
        self._http: Any = None
        self._client: Any = None
        self._awaited: list[list[Any]] = []  # what threads are waiting for

    def preflight(self, base_model: str) -> None:
        """Raise BackendError on an unreachable host, a refused key or an unknown model."""
        http = self._http_module
        self.call(lambda: http.reach(self.url), "the health check", _PREFLIGHT_S)
        self.call(lambda: http.admit(self.url, self._key, base_model), "the key", _ADMIT_S)

    def client(self) -> Any:
        """Return the SDK's ServiceClient, in a new session if none is open."""
        if self._client is None:
            self._http = self._http_module.ServiceHTTP(self._key, self._retries, self._backoff_s)
            self._client = self.call(self._connect, "opening a session")
        return self._client

    def _connect(self) -> Any:
        return self.sdk.ServiceClient(
            api_key=self._http_module.PLACEHOLDER,
            base_url=self.url,
            http_client=self._http,
            max_retries=0,  # ServiceHTTP has already retried
            timeout=min(60.0, self.timeout_s),
        )

    def make_model(
        self, client: Any, model: str, lora: LoraParams, saved: str | None, init: str | None
    ) -> Any:
        """Return a new training client, with the weights and optimizer of ``saved``, if any, else
        with the weights of ``init``, if any."""
        if path := saved or init:
            info = client.create_rest_client().get_weights_info_by_tinker_path(path)
            _check_state(info.result(self.timeout_s), model, lora, path)
        training = client.create_lora_training_client(
            base_model=model,
            rank=lora.rank,
            seed=lora.seed,
            train_mlp=lora.train_mlp,
            train_attn=lora.train_attn,
            train_unembed=lora.train_unembed,
        )
        if saved:
            training.load_state_with_optimizer(saved).result(self.timeout_s)
        elif init:
            training.load_state(init).result(self.timeout_s)
        return training

    def drop(self) -> None:
        """Let go of the session and all that hangs on it, without waiting for the service."""
        http, client = self._http, self._client
        self._http = self._client = None
        if http is not None:
            http.stopped = "the session was closed"
        for futures in list(self._awaited):
            _cancel(futures)
        if client is not None:
            client.holder.close()
            asyncio.run_coroutine_threadsafe(http.aclose(), client.holder.get_loop())

    def call(self, call: Callable[[], T], what: str, timeout_s: float | None = None) -> T:
        """Return ``call()``, made in a thread, since many calls of the SDK take no time-out."""
        result: T = self.wait([later(call, f"mint: {what}")], what, timeout_s)[0]
        return result

    def wait(self, futures: list[Any], what: str, timeout_s: float | None = None) -> list[Any]:
        """Return the futures' results, in order, within one time-out for all of them.

        Raises:
            BackendError: one failed, or they took too long. The others are cancelled then.
        """
        limit = timeout_s or self.timeout_s
        deadline = time.monotonic() + limit
        self._awaited.append(futures)
        try:
            return [future.result(max(0.0, deadline - time.monotonic())) for future in futures]
        except Exception as error:
            _cancel(futures)
            self._explain(error, what, limit)
        except BaseException:  # Ctrl-C
            _cancel(futures)
            raise
        finally:
            self._awaited.remove(futures)

    def _explain(self, error: Exception, what: str, limit: float) -> NoReturn:
        """Raise the BackendError (or Lost) that says in one line what ``error`` means."""
        if isinstance(error, BackendError):
            raise error
        if isinstance(error, TimeoutError):
            raise BackendError(
                f"{what}: no answer from {self.url} within {limit:g} s. It is down, busy or "
                "stuck; a run that had begun continues with --resume"
            ) from None
        status, detail, lost = _verdict(error)
        message = " ".join(f"{what}: {_advice(status, self.url)} ({detail})".split())
        # The key is not in what we send into the SDK; but a server may quote it in its answer.
        message = message.replace(self._key, "***")
        raise (Lost if lost else BackendError)(message[:600]) from None


def _check_state(info: Any, model: str, lora: LoraParams, saved: str) -> None:
    if info.base_model != model or info.lora_rank not in (None, lora.rank):
        raise BackendError(
            f"{saved} is of {info.base_model} at rank {info.lora_rank}, this run is of {model} at "
            f"rank {lora.rank}. Resume with the settings of that run"
        )


def _load_sdk() -> tuple[Any, Any]:
    """Import the SDK and our HTTP client; both are optional, and slow to import."""
    os.environ.setdefault("TINKER_TELEMETRY", "0")  # nothing about a run leaves it unasked
    try:
        import mint

        from . import mint_http
    except ImportError as error:
        raise BackendError(
            f"the mint backend needs the MinT SDK ({error}): pip install 'mint-envs[mint]'"
        ) from None
    if not hasattr(mint, "ServiceClient"):
        raise BackendError(
            "the installed package 'mint' is not the MinT SDK: pip uninstall mint, then "
            "pip install 'mint-envs[mint]'"
        )
    # These two repeat what reaches the user anyway, as an error or as nothing at all.
    for name in ("tinker.lib.api_future_impl", "tinker.lib.retry_handler"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return mint, mint_http


def _cancel(futures: list[Any]) -> None:
    for future in futures:
        getattr(future, "future", lambda future=future: future)().cancel()


def _verdict(error: Exception) -> tuple[int, str, bool]:
    """Return (HTTP status or 0, what the service said, whether the model is lost) of ``error``.

    A request that was taken and failed later leaves the model in a state that nobody knows. So
    does one that the service does not find the model for. One refused at once does not.
    """
    source = error if hasattr(error, "status_code") else error.__cause__
    status = int(getattr(source, "status_code", 0) or 0)
    body = getattr(source, "body", None)
    detail = f"{type(error).__name__}: {error}"
    if isinstance(body, dict) and "detail" in body:
        detail = str(body["detail"])
        if "lost" in body:  # ServiceHTTP has decided
            return status, detail, bool(body["lost"])
    taken = bool(status) and source is not error
    failed_there = hasattr(error, "category") and str(error.category) != "user"
    return status, detail, taken or failed_there or status in (404, 410)


def _advice(status: int, url: str) -> str:
    if status in (401, 403):
        return f"{url} refuses the key; check MINT_API_KEY"
    if status in (400, 422):
        return f"{url} refuses the request; change the setting that it names"
    if status in (404, 410):
        return f"{url} has no such model or checkpoint: it was lost, deleted, or has expired"
    return f"{url} failed; --resume continues from the last checkpoint"
