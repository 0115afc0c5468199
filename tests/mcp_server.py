"""A small MCP server for the tests: ``python mcp_server.py``, or with a port for HTTP."""

from __future__ import annotations

import os
import sys
import time

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("small")
notes: dict[str, str] = {}


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def write_note(name: str, text: str = "") -> str:
    """Keep a note."""
    notes[name] = text
    return "kept"


@server.tool()
def read_note(name: str) -> str:
    """Return a note."""
    if name not in notes:
        raise ToolError(f"there is no note {name!r}")
    return notes[name]


@server.tool()
def read_file(path: str) -> str:
    """Return a text that is no file: a tool with a name that one of ours has."""
    return f"nothing in {path}"


@server.tool()
def shout(size: int) -> str:
    """Return much text."""
    return "x" * size


@server.tool()
def hang() -> str:
    """Never answer."""
    time.sleep(600)
    return "late"


@server.tool()
def die() -> str:
    """End the server at once."""
    os._exit(3)


if __name__ == "__main__":
    if sys.argv[1:]:
        server.run("streamable-http", port=int(sys.argv[1]))
    else:
        server.run()
