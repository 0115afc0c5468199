"""The toolkits that come with the package, by name. All are deterministic and offline."""

from ..tools import Toolkit
from .calculator import Calculator
from .files import FileSystem
from .keyvalue import KeyValueStore

TOOLKITS: dict[str, type[Toolkit]] = {
    kit.name: kit for kit in (Calculator, FileSystem, KeyValueStore)
}

__all__ = ["TOOLKITS", "Calculator", "FileSystem", "KeyValueStore"]
