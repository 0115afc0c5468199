"""A file system in memory: directories are dictionaries, files are texts."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from .state import leaves
from .tools import ToolError, Toolkit, tool

_FOLDERS = ("docs", "notes", "reports", "archive", "drafts", "photos", "plans", "letters")
_NAMES = ("alpha", "budget", "minutes", "summary", "todo", "recipe", "invoice", "travel", "log")
_LINES = (
    "The meeting moved to Tuesday.", "Total: 420.", "Call the printer.", "Version 3 is final.",
    "Buy milk and bread.", "The code is 7714.", "See the attached plan.", "Train leaves at 9:40.",
)  # fmt: skip
_MAX_ENTRIES, _MAX_FILE, _MAX_DEPTH, _MAX_PATH = 1000, 64 * 1024, 20, 2000

Directory = dict[str, Any]
Path = Annotated[str, "path from the root, for example docs/todo.txt"]


class FileSystem(Toolkit):
    """State: ``{"files": {name: text or directory}}``, at first two or three directories.

    Paths begin at the root whether or not they begin with a slash; ``..`` stops at the root.
    """

    name = "files"
    call_s = None

    def initial(self, rng: np.random.Generator) -> dict[str, Any]:
        folders = rng.permutation(len(_FOLDERS))[: int(rng.integers(2, 4))]
        return {"files": {_FOLDERS[i]: _draw_folder(rng) for i in folders}}

    @tool
    def list_directory(self, path: Path = "/") -> list[str]:
        """Return the names in a directory, in alphabetical order; directories end with a slash."""
        directory = self._directory(_split(path))
        return sorted(f"{n}/" if isinstance(entry, dict) else n for n, entry in directory.items())

    @tool
    def read_file(self, path: Path) -> str:
        """Return the text of a file."""
        entry = self._entry(_split(path))
        if isinstance(entry, dict):
            raise ToolError(f"{_short_path(path)} is a directory")
        return str(entry)

    @tool
    def write_file(self, path: Path, content: Annotated[str, "the whole new text"]) -> None:
        """Write a file; its directory must exist, and a file of that name is replaced."""
        if len(content) > _MAX_FILE:
            raise ToolError(f"a file holds at most {_MAX_FILE} characters")
        parent, name = self._place(path)
        if isinstance(parent.get(name), dict):
            raise ToolError(f"{_short_path(path)} is a directory")
        self._make_room(parent, name)
        parent[name] = content

    @tool
    def make_directory(self, path: Path) -> None:
        """Make an empty directory; the one it stands in must exist."""
        parent, name = self._place(path)
        if name in parent:
            raise ToolError(f"{_short_path(path)} exists already")
        if len(_split(path)) > _MAX_DEPTH:
            raise ToolError(f"at most {_MAX_DEPTH} directories inside each other")
        self._make_room(parent, name)
        parent[name] = {}

    @tool
    def move(
        self,
        source: Path,
        destination: Annotated[str, "the new path, its last name included"],
    ) -> None:
        """Move or rename a file or directory. Nothing is overwritten."""
        old, new = _split(source), _split(destination)
        if not old or new[: len(old)] == old:
            raise ToolError(f"{_short_path(source)} cannot be moved into itself")
        entry = self._entry(old)
        parent, name = self._place(destination)
        if name in parent:
            raise ToolError(f"{_short_path(destination)} exists already")
        if len(new) + _height(entry) > _MAX_DEPTH + 1:
            raise ToolError(f"at most {_MAX_DEPTH} directories inside each other")
        parent[name] = entry
        del self._directory(old[:-1])[old[-1]]

    @tool
    def delete(self, path: Path) -> None:
        """Delete a file, or a directory that is empty."""
        parts = _split(path)
        if not parts:
            raise ToolError("the root cannot be deleted")
        if self._entry(parts) and isinstance(self._entry(parts), dict):
            raise ToolError(f"{_short_path(path)} is not empty: delete what is in it first")
        del self._directory(parts[:-1])[parts[-1]]

    @tool
    def search(
        self, text: Annotated[str, "what to look for, upper and lower case alike"]
    ) -> list[str]:
        """Return the paths of all files whose text contains something."""
        found = [
            "/".join(map(str, path))
            for path, content in leaves(self._root)
            if isinstance(content, str) and text.casefold() in content.casefold()
        ]
        return sorted(found)

    @property
    def _root(self) -> Directory:
        root: Directory = self.state["files"]
        return root

    def _entry(self, parts: list[str]) -> Any:
        entry: Any = self._root
        for i, part in enumerate(parts):
            if not isinstance(entry, dict) or part not in entry:
                raise ToolError(f"there is no {_short_path('/'.join(parts[: i + 1]))}")
            entry = entry[part]
        return entry

    def _directory(self, parts: list[str]) -> Directory:
        entry = self._entry(parts)
        if not isinstance(entry, dict):
            raise ToolError(f"{_short_path('/'.join(parts))} is not a directory")
        return entry

    def _place(self, path: str) -> tuple[Directory, str]:
        """Return the directory that ``path`` stands in, and its last name."""
        parts = _split(path)
        if not parts:
            raise ToolError("give the name of a file or directory, not the root")
        if len(parts[-1]) > 255:
            raise ToolError("a name has at most 255 characters")
        return self._directory(parts[:-1]), parts[-1]

    def _make_room(self, parent: Directory, name: str) -> None:
        if name not in parent and sum(1 for _ in leaves(self._root)) >= _MAX_ENTRIES:
            raise ToolError(f"the file system is full: it holds {_MAX_ENTRIES} entries")


def _draw_folder(rng: np.random.Generator) -> Directory:
    names = rng.permutation(len(_NAMES))[: int(rng.integers(1, 4))]
    return {f"{_NAMES[i]}.txt": _draw_line(rng) for i in names}


def _draw_line(rng: np.random.Generator) -> str:
    """Return a sentence and a number, so that a text cannot well be guessed."""
    return f"{_LINES[int(rng.integers(len(_LINES)))]} Note {rng.integers(1000, 10000)}"


def _split(path: str) -> list[str]:
    if len(path) > _MAX_PATH:
        raise ToolError(f"a path has at most {_MAX_PATH} characters")
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return parts


def _height(entry: Any) -> int:
    """Return how many directories stand inside each other, ``entry`` included."""
    if not isinstance(entry, dict):
        return 1
    return 1 + max(map(_height, entry.values()), default=0)


def _short_path(path: str) -> str:
    return repr(path if len(path) <= 80 else path[:77] + "...")
