"""The toolkits that come with the package, by name. All are deterministic and offline."""

from .calculator import Calculator
from .calendar import Calendar
from .database import Database
from .files import FileSystem
from .keyvalue import KeyValueStore
from .python import Python
from .retail import Retail
from .tools import Toolkit

#: The toolkits that are known, by name.
TOOLKITS: dict[str, type[Toolkit]] = {
    kit.name: kit
    for kit in (Calculator, Calendar, Database, FileSystem, KeyValueStore, Python, Retail)
}

#: What ``toolkit="all"`` stands for: those that need nothing but this process. One more would draw
#: every seed of mint/ToolUse-v0 anew, so that a new toolkit joins with the next version of the id.
IN_PROCESS = ("calculator", "calendar", "database", "files", "keyvalue", "retail")

__all__ = [
    "IN_PROCESS",
    "TOOLKITS",
    "Calculator",
    "Calendar",
    "Database",
    "FileSystem",
    "KeyValueStore",
    "Python",
    "Retail",
]
