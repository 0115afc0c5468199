"""Tools of an MCP server, as a toolkit. Needs the extra ``mcp``: ``pip install 'mint-envs[mcp]'``.

    kit = McpTools("python my_server.py")          # a command: started on the first call
    kit = McpTools("http://localhost:8000/mcp")    # or a server that runs already
    kit.run("add", {"a": 1, "b": 2})
    kit.close()

A server is started anew for every episode. What it does is its own affair: it is not taken to be
deterministic, and its state is not seen. A server that is dead or hangs is nobody's wrong call: the
episode is left unmeasured.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
import tempfile
import threading
import weakref
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import Future
from functools import lru_cache
from typing import Any

import numpy as np

from ...children import leashed
from ...errors import SettingError
from . import TOOLKITS
from .schemas import ToolTable
from .tools import ToolError, Toolkit, ToolUnavailable

#: Seconds in which a server must have started and listed its tools, and in which it must be gone.
_START_S, _CLOSE_S = 60.0, 10.0
_MAX_PAGES = 20
#: JSON-RPC codes by which the client says that the server is gone, or does not answer.
_DOWN = (-32000, -32001)


class McpTools(Toolkit):
    """The tools of one MCP server. A tool whose name one of ours has gets ``mcp_`` before it.

    Args:
        where: the command that starts a server that speaks over its standard input and output, as
            one would type it, or the URL of one that speaks streamable HTTP.
        call_s: seconds after which a call that has not answered counts as hung.

    Raises:
        SettingError: no server answers there, the package ``mcp`` is missing, or a tool of the
            server has a broken schema. The tools are listed once for each server in a process.
    """

    name = "mcp"
    call_s = None  # each server has its own limit
    stateless = True  # of what it keeps nothing is seen

    def __init__(self, where: str, call_s: float = 10.0) -> None:
        super().__init__()
        self._where, self._call_s = where, call_s
        self._names = {_own_name(tool["name"]): tool["name"] for tool in tools_of(where)}
        self._server: _Connection | None = None
        self._broken = ""

    def initial(self, rng: np.random.Generator) -> dict[str, Any]:
        return {}

    def reset(self, rng: np.random.Generator) -> None:
        """Let the server go; the next call starts another."""
        self.close()
        self._broken = ""
        super().reset(rng)

    def offered(self) -> list[dict[str, Any]]:
        return offered_by(self._where)

    def table(self) -> ToolTable:
        return _server_table(self._where)

    def do(self, name: str, arguments: dict[str, Any]) -> str:
        if self._broken:
            raise ToolUnavailable(self._broken)
        try:
            if self._server is None:
                self._server = _Connection(self._where)
                weakref.finalize(self, self._server.close)  # an episode may be left half-way
            return self._server.call(self._names[name], arguments, self._call_s)
        except ToolUnavailable as error:
            self._broken = str(error)  # for the rest of the episode: what it knew is lost
            self.close()
            raise

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None


def offered_by(where: str) -> list[dict[str, Any]]:
    """Return name, description and parameters of the tools of a server, as they are on offer.

    Raises:
        SettingError: as ``McpTools``.
    """
    return [{**tool, "name": _own_name(tool["name"])} for tool in tools_of(where)]


@lru_cache(maxsize=16)
def tools_of(where: str) -> tuple[dict[str, Any], ...]:
    """Ask a server once for its tools.

    Raises:
        SettingError: as ``McpTools``.
    """
    try:
        server = _Connection(where)
    except ToolUnavailable as error:
        raise SettingError(f"mcp={where!r}: {error}") from error
    server.close()
    if not server.tools:
        raise SettingError(f"mcp={where!r}: this server offers no tools")
    return tuple(server.tools)


@lru_cache(maxsize=16)
def _server_table(where: str) -> ToolTable:
    return ToolTable(offered_by(where))


@lru_cache(maxsize=1)
def _taken() -> frozenset[str]:
    return frozenset(tool["name"] for kit in TOOLKITS.values() for tool in kit.schemas())


def _own_name(name: str) -> str:
    return f"mcp_{name}" if name in _taken() else name


class _Connection:
    """A connection, open in a thread of its own: the client is asynchronous, a step is not.

    A server that is a command is started, and ended with its group, by the client's package: it
    takes no process that somebody else has started, such as a ``children.Child``. If this process
    is killed, ``children.leashed`` ends it.
    """

    def __init__(self, where: str) -> None:
        connect = _connection(where)
        self.tools: list[dict[str, Any]] = []
        self._client: Any = None
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._ready: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, args=(connect,), daemon=True)
        self._thread.start()
        self._ready.result()

    def call(self, name: str, arguments: dict[str, Any], seconds: float) -> str:
        """Return the text of a result.

        Raises:
            ToolError: the server says that the call is wrong.
            ToolUnavailable: it is gone, or has not answered in time.
        """
        if not self._thread.is_alive():
            raise ToolUnavailable("the MCP server is gone")
        work = self._client.call_tool(name, arguments, read_timeout_seconds=seconds)
        try:
            result = self._wait(work, seconds)
        except Exception as error:
            raise _as_tool_error(error, seconds) from error
        text = "\n".join(map(_content_text, result.content))
        if result.is_error:
            raise ToolError(text.removeprefix("Error: "))
        return text

    def close(self) -> None:
        """End the server. Closing twice is harmless."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: it has ended by itself
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(_CLOSE_S)

    def _wait(self, work: Coroutine[Any, Any, Any], seconds: float) -> Any:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(seconds + 1)  # the client's own limit comes first
        except TimeoutError:
            future.cancel()
            raise

    def _run(self, connect: Any) -> None:
        """The thread: open the connection, keep it until it is closed."""
        try:
            self._loop.run_until_complete(self._serve(connect))
        except BaseException as error:
            if not self._ready.done():
                self._ready.set_exception(_start_failure(error))
        finally:
            self._loop.close()

    async def _serve(self, connect: Any) -> None:
        async with contextlib.AsyncExitStack() as stack:
            async with asyncio.timeout(_START_S):
                self._client = await stack.enter_async_context(connect())
                self.tools = [tool async for tool in _listed_tools(self._client)]
            self._ready.set_result(None)
            await self._stop.wait()


def _connection(where: str) -> Any:
    """Return what opens a connection.

    Raises:
        SettingError: the package ``mcp`` is missing, or ``where`` is empty.
    """
    try:
        from mcp import Client, StdioServerParameters, stdio_client
    except ImportError as error:
        raise SettingError(
            "mcp=...: the package is missing: pip install 'mint-envs[mcp]'"
        ) from error
    if where.startswith(("http://", "https://")):
        return lambda: Client(where)
    words = _command_words(where)

    @contextlib.asynccontextmanager
    async def started() -> AsyncIterator[Any]:
        with tempfile.TemporaryFile("w+", errors="replace") as log, leashed(words) as leash:
            parameters = StdioServerParameters(command=leash[0], args=leash[1:])
            try:
                async with Client(stdio_client(parameters, errlog=log)) as client:
                    yield client
            except Exception as error:
                log.seek(0)
                error.add_note(log.read()[-500:])  # what the server said of it
                raise

    return started


def _command_words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise SettingError(f"mcp={command!r}: {error}") from error
    if not words:
        raise SettingError("mcp='': give the command that starts a server, or its URL")
    return words


async def _listed_tools(client: Any) -> AsyncIterator[dict[str, Any]]:
    cursor = None
    for _ in range(_MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            description = " ".join((tool.description or "").split())
            parameters = dict(tool.input_schema)
            yield {"name": tool.name, "description": description, "parameters": parameters}
        cursor = page.next_cursor
        if not cursor:
            return


def _content_text(content: Any) -> str:
    """Return the text of one part of a result; of a picture or the like, only what it is."""
    text = getattr(content, "text", None)
    return text if isinstance(text, str) else f"({content.type})"


def _as_tool_error(error: Exception, seconds: float) -> Exception:
    """Return a refusal of the server as a ToolError, everything else as ToolUnavailable."""
    code = getattr(error, "code", None)
    if isinstance(code, int) and code not in _DOWN:
        return ToolError(str(getattr(error, "message", error)))
    if isinstance(error, TimeoutError) or code == _DOWN[1]:
        return ToolUnavailable(f"the MCP server has not answered within {seconds:g} s")
    return ToolUnavailable(f"the MCP server is gone: {_error_with_notes(error)}")


def _start_failure(error: BaseException) -> ToolUnavailable:
    if isinstance(error, TimeoutError):
        return ToolUnavailable(f"the server has not started within {_START_S:g} s")
    return ToolUnavailable(f"no server answers there: {_error_with_notes(error)}")


def _error_with_notes(error: BaseException) -> str:
    """Return the kind and text of an error, of a group that of its first; and the notes on it."""
    notes = list(getattr(error, "__notes__", []))
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
        notes += getattr(error, "__notes__", [])
    return "\n".join([f"{type(error).__name__}: {error}", *filter(None, map(str.strip, notes))])
