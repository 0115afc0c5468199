"""The database: SQL as it is meant, what it must not read, and statements without end."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from toolkits_for_tests import fresh, refused, run

from mint_envs.tooluse import Toolkit, diff
from mint_envs.tooluse.toolkits import Database

pytestmark = pytest.mark.quick


def query(kit: Toolkit, sql: str) -> Any:
    return run(kit, "query_database", sql=sql)["rows"]


def test_the_database_is_what_it_says() -> None:
    kit = fresh(Database)
    tables = run(kit, "list_tables")
    assert tables == ["departments", "employees", "projects"]
    for table in tables:
        rows = kit.state["tables"][table]
        assert query(kit, f"SELECT count(*) FROM {table}") == [[len(rows)]]
        text = run(kit, "describe_table", table=table)
        found = run(kit, "query_database", sql=f"SELECT * FROM {table} ORDER BY id")
        assert all(column in text for column in found["columns"])
        shown = [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]
        assert shown == [{"id": int(id), **row} for id, row in rows.items()]


def test_changes_of_rows_are_changes_of_the_state() -> None:
    kit = fresh(Database)
    before = kit.snapshot()
    id, title = query(kit, "SELECT id, title FROM projects LIMIT 1")[0]
    sql = f"UPDATE projects SET hours = 7 WHERE title = '{title}' RETURNING hours"
    assert run(kit, "update_database", sql=sql) == {"rows_changed": 1}
    path = ("tables", "projects", str(id), "hours")
    assert diff(before, kit.state) == {path: (before["tables"]["projects"][str(id)]["hours"], 7)}
    run(kit, "update_database", sql=f"DELETE FROM projects WHERE id = {id}")
    assert str(id) not in kit.state["tables"]["projects"]
    run(kit, "update_database", sql="WITH t AS (SELECT min(id) AS i FROM employees) INSERT INTO "
        "projects (id, title, lead_id, hours) SELECT 5, 'New', i, 1 FROM t")  # fmt: skip
    assert kit.state["tables"]["projects"]["5"]["title"] == "New"


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("DELETE FROM departments", "FOREIGN KEY"),
        ("UPDATE projects SET lead_id = 1", "FOREIGN KEY"),
        ("UPDATE employees SET name = NULL", "NOT NULL"),
        ("UPDATE employees SET name = 'Same'", "UNIQUE"),
        ("UPDATE projects SET hours = 9e999", "finite"),
        ("UPDATE projects SET hours = X'00ff'", "finite"),
        ("UPDATE projects SET hour = 1", "no such column"),
        ("DELETE FROM elsewhere", "no such table"),
        ("DELETE FROM projects; DELETE FROM employees", "one statement"),
        ("CREATE TABLE more (x)", "begins with"),
        ("DROP TABLE projects", "begins with"),
        ("ALTER TABLE projects RENAME TO p", "begins with"),
        ("PRAGMA foreign_keys = OFF", "begins with"),
        ("ATTACH ':memory:' AS other", "begins with"),
        ("BEGIN", "begins with"),
        ("SELECT 1", "begins with"),
        ("", "begins with"),
        ("UPDATE sqlite_master SET sql = ''", "may not be modified"),
        ("INSERT INTO sqlite_sequence VALUES ('x', 1)", "no such table"),
        ("UPDATE employees SET name = 'a' || id, id = random()", "not authorized"),
        ("-- a remark\nDELETE FROM projects", "begins with"),
        ("EXPLAIN DELETE FROM projects", "begins with"),
        ("WITH t AS (SELECT 1) DROP TABLE projects", "syntax error"),
        ("\x00", "begins with"),
        ("DELETE FROM projects WHERE title = '\x00'", "null character"),
        ("DELETE FROM projects WHERE title = '\ud800'", "surrogates"),
        ("DELETE FROM projects WHERE title = '" + "x" * 5000 + "'", "too large"),
        ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 600) INSERT INTO "
         "projects (title, lead_id, hours) SELECT 'p' || i, (SELECT max(id) FROM employees), 1 "
         "FROM n", "at most 500 rows"),
    ],
)  # fmt: skip
def test_a_change_that_is_refused_changes_nothing(sql: str, text: str) -> None:
    assert text in refused(fresh(Database), "update_database", sql=sql)


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("SELECT * FROM sqlite_master", "prohibited"),
        ("SELECT * FROM sqlite_schema", "prohibited"),
        ("SELECT * FROM main.sqlite_master", "prohibited"),
        ("SELECT * FROM temp.sqlite_master", "prohibited"),
        ("SELECT count(*) FROM sqlite_temp_master", "not authorized"),
        ("SELECT count(*) FROM sqlite_master", "not authorized"),
        ("SELECT * FROM pragma_table_info('projects')", "not authorized"),
        ("SELECT * FROM pragma_database_list", "not authorized"),
        ("SELECT count(*) FROM pragma_compile_options", "not authorized"),
        ("SELECT * FROM json_each('[1]')", ""),
        ("SELECT * FROM other.projects", "no such table"),
        ("SELECT load_extension('x')", "not authorized"),
        ("SELECT writefile('x', 'y')", "no such function"),
        ("SELECT readfile('/etc/passwd')", "no such function"),
        ("SELECT random()", "not authorized"),
        ("SELECT hex(randomblob(8))", "not authorized"),
        ("SELECT datetime('now')", "not authorized"),
        ("SELECT strftime('%s', 'now')", "not authorized"),
        ("SELECT CURRENT_TIMESTAMP", "not authorized"),
        ("SELECT CURRENT_DATE, CURRENT_TIME", "not authorized"),
        ("SELECT sqlite_version()", "not authorized"),
        ("SELECT last_insert_rowid()", "not authorized"),
        ("SELECT zeroblob(1000000000)", "not authorized"),
        ("SELECT 1 FROM projects ORDER BY random()", "not authorized"),
        ("VACUUM INTO 'stolen.db'", "begins with"),
        ("SELECT 1; ATTACH 'stolen.db' AS s", "one statement"),
        ("WITH t AS (SELECT 1) DELETE FROM projects", "not authorized"),
        ("SELECT " + "(" * 300 + "1" + ")" * 300, ""),
        ("SELECT 1" + " UNION SELECT 1" * 100, "too many"),
        ("SELECT replace('" + "a" * 1000 + "', 'a', '" + "b" * 1000 + "')", "too big"),
    ],
)
def test_a_query_reads_the_tables_and_nothing_else(
    sql: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    message = refused(fresh(Database), "query_database", sql=sql)
    assert text in message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
        "WITH RECURSIVE n(i) AS (SELECT 'x' UNION ALL SELECT substr(i || i, 1, 1500) FROM n) "
        "SELECT count(*) FROM n",
        "SELECT count(*) FROM employees a, employees b, employees c, employees d, employees e, "
        "employees f, employees g, employees h",
        "SELECT a.name FROM employees a, employees b, employees c, employees d, employees e, "
        "employees f, employees g, employees h ORDER BY b.name || c.name || d.name",
    ],
)
def test_a_statement_that_never_ends_is_stopped_by_its_steps(sql: str) -> None:
    kit = fresh(Database)
    assert "100000 steps" in refused(kit, "query_database", sql=sql)
    assert query(kit, "SELECT 1") == [[1]]


def test_like_does_not_backtrack() -> None:
    kit = fresh(Database)
    row = f"SELECT '{'a' * 1500}' LIKE '{'%a' * 24}b', '{'a' * 1500}' GLOB '{'*a' * 24}b'"
    assert query(kit, row) == [[0, 0]]
    longer = f"SELECT '{'a' * 1500}' LIKE '{'%a' * 90}b'"
    assert "too complex" in refused(kit, "query_database", sql=longer)


def test_what_a_query_shows_is_capped_and_plain() -> None:
    kit = fresh(Database)
    found = run(kit, "query_database", sql="SELECT a.id FROM employees a, employees b, projects")
    assert len(found["rows"]) == 50
    assert "more" in found
    odd = "SELECT X'00ff', 9e999, NULL, CAST(X'ff' AS TEXT), 1.5, 9223372036854775807"
    assert query(kit, odd) == [["00ff", "inf", None, "\ufffd", 1.5, 9223372036854775807]]


def test_any_thread_may_use_a_database() -> None:
    kit = fresh(Database)
    wanted = query(kit, "SELECT name FROM employees ORDER BY id")
    barrier = threading.Barrier(4)

    def ask(_: int) -> bool:
        barrier.wait()
        found = [query(kit, "SELECT name FROM employees ORDER BY id") for _ in range(20)]
        return all(rows == wanted for rows in found)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(ask, range(4)))
