"""The toolkits that come with the package, by name. All are deterministic and offline."""

from .calculator import Calculator
from .calendar import Calendar
from .database import Database
from .files import FileSystem
from .keyvalue import KeyValueStore
from .python import Python
from .retail import Retail
from .tools import Toolkit

TOOLKITS: dict[str, type[Toolkit]] = {
    kit.name: kit
    for kit in (Calculator, Calendar, Database, FileSystem, KeyValueStore, Python, Retail)
}

#: Those that need nothing but this process: what ``toolkit="all"`` stands for.
IN_PROCESS = tuple(sorted(name for name in TOOLKITS if name != "python"))

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
