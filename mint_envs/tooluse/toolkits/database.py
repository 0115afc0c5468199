"""A small company in SQLite: real SQL, over rows that are plain data between two calls."""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import numpy as np

from .tools import ToolError, Toolkit, tool

_SCHEMA = {
    "departments": (
        "CREATE TABLE departments (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, "
        "floor INTEGER NOT NULL, {budget} INTEGER NOT NULL CHECK ({budget} >= 0))"
    ),
    "employees": (
        "CREATE TABLE employees (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, "
        "department_id INTEGER NOT NULL REFERENCES departments (id), "
        "{city} TEXT NOT NULL, {salary} INTEGER NOT NULL CHECK ({salary} > 0))"
    ),
    "projects": (
        "CREATE TABLE projects (id INTEGER PRIMARY KEY, title TEXT NOT NULL UNIQUE, "
        "lead_id INTEGER NOT NULL REFERENCES employees (id), hours INTEGER NOT NULL)"
    ),
}
#: Columns whose names differ from one database to the next, so that the schema must be read.
_COLUMNS = {
    "budget": ("budget", "funds", "allowance"),
    "city": ("city", "town", "location"),
    "salary": ("salary", "wage", "pay"),
}
_DEPARTMENTS = ("Sales", "Legal", "Design", "Support", "Research", "Finance", "Logistics")
_NAMES = (
    "Ada Brandt", "Ben Okafor", "Chen Wei", "Dora Silva", "Emil Novak", "Fatima Noor",
    "Goran Ilic", "Hana Sato", "Ivo Marek", "Julia Roth", "Kofi Mensah", "Lena Berg",
)  # fmt: skip
_CITIES = ("Lyon", "Oslo", "Porto", "Graz", "Turin", "Ghent")
_PROJECTS = ("Atlas", "Beacon", "Comet", "Delta", "Ember", "Falcon", "Harbor", "Iris")

_READ = re.compile(r"\s*+(select|with|values)\b", re.IGNORECASE)
_WRITE = re.compile(r"\s*+(insert|update|delete|replace|with)\b", re.IGNORECASE)
_WRITING = {sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE}
#: No clock, no chance, nothing that differs between machines or versions, nothing that makes much
#: of little. ``like`` and ``glob`` do not backtrack.
_FUNCTIONS = {
    "abs", "avg", "ceil", "ceiling", "coalesce", "count", "dense_rank", "first_value", "floor",
    "format", "glob", "group_concat", "ifnull", "iif", "instr", "lag", "last_value", "lead",
    "length", "like", "lower", "ltrim", "max", "min", "nth_value", "ntile", "nullif", "printf",
    "quote", "rank", "replace", "round", "row_number", "rtrim", "sign", "substr", "substring",
    "sum", "total", "trim", "typeof", "unicode", "upper",
}  # fmt: skip
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 4000,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 4000,
    sqlite3.SQLITE_LIMIT_COLUMN: 50,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 20,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 50,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 10,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
#: Steps of SQLite's machine that one statement may take: a count, so that a busy machine gives
#: the same results as an idle one.
_MAX_STEPS, _MAX_SHOWN, _MAX_ROWS = 100_000, 50, 500

Row = dict[str, Any]


def _trim(strip: Callable[[str, str], str]) -> Callable[[Any, Any], str | None]:
    """Return a function of SQL that takes characters off the ends of a text.

    SQLite's own compares each character with each: in one step, as long as ten thousand others.
    """

    def function(text: Any, characters: Any) -> str | None:
        if text is None or characters is None:
            return None
        return strip(str(text), str(characters))

    return function


_TRIMS = {"trim": _trim(str.strip), "ltrim": _trim(str.lstrip), "rtrim": _trim(str.rstrip)}


class Database(Toolkit):
    """State: ``{"columns": names that differ, "tables": {table: {id: row}}}``.

    A database in memory is built from the rows for every statement and read back after it. So the
    state is all there is: a statement that fails changes nothing, and any thread may run it.
    """

    name = "database"
    call_s = None

    def initial(self, rng: np.random.Generator) -> dict[str, Any]:
        columns = {key: names[int(rng.integers(3))] for key, names in _COLUMNS.items()}
        ids = _draw_ids(rng, 3, 10), _draw_ids(rng, 7, 100), _draw_ids(rng, 4, 1000)
        departments = dict(zip(ids[0], _departments(rng, columns), strict=True))
        employees = dict(zip(ids[1], _employees(rng, columns, ids[0]), strict=True))
        projects = dict(zip(ids[2], _projects(rng, ids[1]), strict=True))
        tables = {"departments": departments, "employees": employees, "projects": projects}
        return {"columns": columns, "tables": tables}

    @tool
    def list_tables(self) -> list[str]:
        """Return the names of the tables of the database."""
        return sorted(_SCHEMA)

    @tool
    def describe_table(self, table: Annotated[str, "name of a table"]) -> str:
        """Return the columns of a table, as the statement that made it."""
        if table not in _SCHEMA:
            raise ToolError(f"there is no table {table[:80]!r}; there are {', '.join(_SCHEMA)}")
        return _SCHEMA[table].format(**self.state["columns"])

    @tool
    def query_database(self, sql: Annotated[str, "one SELECT of SQLite"]) -> dict[str, Any]:
        """Return columns and rows of a SELECT, at most 50 rows. It changes nothing."""
        if not _READ.match(sql):
            raise ToolError("give one statement that begins with SELECT, WITH or VALUES")
        with _opened(self.state, writing=False) as connection:
            cursor = connection.execute(sql)
            rows = cursor.fetchmany(_MAX_SHOWN + 1)
            columns = [column[0] for column in cursor.description]
        shown = [[_storable_value(value) for value in row] for row in rows[:_MAX_SHOWN]]
        found = {"columns": columns, "rows": shown}
        return {**found, "more": "only the first 50 rows"} if len(rows) > _MAX_SHOWN else found

    @tool
    def update_database(
        self, sql: Annotated[str, "one INSERT, UPDATE or DELETE of SQLite"]
    ) -> dict[str, int]:
        """Change rows, and return how many. A statement that fails changes nothing."""
        if not _WRITE.match(sql):
            raise ToolError("give one statement that begins with INSERT, UPDATE, DELETE or WITH")
        with _opened(self.state, writing=True) as connection:
            cursor = connection.execute(sql)
            cursor.fetchmany(_MAX_SHOWN)  # what RETURNING gives; the count is right only after it
            tables = _read_back(connection)
        self.state["tables"] = tables
        return {"rows_changed": max(cursor.rowcount, 0)}


@contextmanager
def _opened(state: dict[str, Any], writing: bool) -> Iterator[sqlite3.Connection]:
    """Build the database and open it to one statement of a model; its errors are the model's."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        _fill(connection, state)
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)
        for trim, strip in _TRIMS.items():
            connection.create_function(trim, 2, strip, deterministic=True)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        connection.set_authorizer(_Authorizer(writing))
        connection.set_progress_handler(lambda: 1, _MAX_STEPS)
        yield connection
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:  # ValueError: a NUL in the text
        raise ToolError(_explained(str(error))) from None
    finally:
        connection.close()


def _fill(connection: sqlite3.Connection, state: dict[str, Any]) -> None:
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("BEGIN")
    for table, rows in state["tables"].items():
        connection.execute(_SCHEMA[table].format(**state["columns"]))
        for id, row in rows.items():
            marks = ", ".join("?" * (len(row) + 1))
            connection.execute(
                f"INSERT INTO {table} (id, {', '.join(row)}) VALUES ({marks})",
                (int(id), *row.values()),
            )
    connection.execute("COMMIT")


def _read_back(connection: sqlite3.Connection) -> dict[str, dict[str, Row]]:
    """Return the rows of every table. What JSON cannot say, or is too much, is refused."""
    connection.set_authorizer(None)
    connection.set_progress_handler(None, 0)
    tables = {}
    for table in _SCHEMA:
        cursor = connection.execute(f"SELECT * FROM {table} ORDER BY id")
        columns = [column[0] for column in cursor.description][1:]
        rows = cursor.fetchmany(_MAX_ROWS + 1)
        if len(rows) > _MAX_ROWS:
            raise ToolError(f"a table holds at most {_MAX_ROWS} rows")
        if not all(_storable(value) for row in rows for value in row):
            raise ToolError("only text and finite numbers can be stored")
        tables[table] = {str(id): dict(zip(columns, row, strict=True)) for id, *row in rows}
    return tables


class _Authorizer:
    """Lets a statement read the tables, write to them if it may, and call harmless functions.

    Everything else is refused: other schemas, sqlite_master, PRAGMA, ATTACH, transactions,
    tables, views and triggers of its own.
    """

    def __init__(self, writing: bool) -> None:
        self._writing = writing

    def __call__(self, action: int, one: str | None, two: str | None, *_: str | None) -> int:
        return sqlite3.SQLITE_OK if self._allows(action, one, two) else sqlite3.SQLITE_DENY

    def _allows(self, action: int, one: str | None, two: str | None) -> bool:
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
            return True
        if action == sqlite3.SQLITE_FUNCTION:
            return two in _FUNCTIONS
        if action == sqlite3.SQLITE_READ:
            return one in _SCHEMA or (two == "" and _is_own(one))
        return self._writing and action in _WRITING and one in _SCHEMA


def _is_own(name: str | None) -> bool:
    """True for the name that a statement gave to a part of itself (``WITH name AS``)."""
    return name is not None and not name.lower().startswith(("sqlite_", "pragma_"))


def _explained(message: str) -> str:
    if message == "interrupted":
        return f"stopped: the statement takes more than {_MAX_STEPS} steps"
    if "FOREIGN KEY" in message:
        return (
            "FOREIGN KEY constraint failed: an id that is referred to must exist. Change or "
            "delete the rows that refer to it first (describe_table shows which do)."
        )
    if "not authorized" in message or "prohibited" in message:
        return (
            f"{message}: only the tables of list_tables, and functions that need no clock, no "
            "chance and no file. describe_table shows the columns."
        )
    if "no such" in message:
        return f"{message}; list_tables and describe_table show what there is"
    return message


def _storable_value(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.hex()
    return value if _storable(value) else str(value)


def _storable(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | int)


def _draw_ids(rng: np.random.Generator, count: int, least: int) -> list[str]:
    """Return ids with gaps, which cannot well be guessed; those of a table have a length of its
    own."""
    numbers = np.sort(rng.permutation(9 * least)[:count]) + least
    return [str(number) for number in numbers]


def _some(rng: np.random.Generator, items: tuple[str, ...], count: int) -> list[str]:
    return [items[i] for i in rng.permutation(len(items))[:count]]


def _departments(rng: np.random.Generator, columns: dict[str, str]) -> list[Row]:
    return [
        {"name": name, "floor": int(rng.integers(1, 10)),
         columns["budget"]: int(rng.integers(100, 1000)) * 100}
        for name in _some(rng, _DEPARTMENTS, 3)
    ]  # fmt: skip


def _employees(
    rng: np.random.Generator, columns: dict[str, str], departments: list[str]
) -> list[Row]:
    return [
        {"name": name, "department_id": int(departments[int(rng.integers(len(departments)))]),
         columns["city"]: _CITIES[int(rng.integers(len(_CITIES)))],
         columns["salary"]: int(rng.integers(2000, 9000))}
        for name in _some(rng, _NAMES, 7)
    ]  # fmt: skip


def _projects(rng: np.random.Generator, employees: list[str]) -> list[Row]:
    return [
        {"title": title, "lead_id": int(employees[int(rng.integers(len(employees)))]),
         "hours": int(rng.integers(10, 500))}
        for title in _some(rng, _PROJECTS, 4)
    ]  # fmt: skip
