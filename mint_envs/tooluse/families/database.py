"""Requests about the company in the database. Most say nothing of tables and columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .common import NO_TOOL, FamilyEntry, Request, Step, in_turn, pick, pick_two

State = Mapping[str, Any]
Turns = tuple[tuple[Step, ...], ...]

_NEW = ("Zoe Hart", "Yuri Lang", "Xenia Kohl", "Walter Pohl")


def hours_told(rng: np.random.Generator, state: State) -> Request:
    project = _a_project(rng, state)
    sql = f"SELECT hours FROM projects WHERE title = '{project['title']}'"
    text = (
        f"In the table projects, which has the columns title and hours: how many hours does "
        f"'{project['title']}' have?"
    )
    return Request(text, in_turn(_query(sql)), str(project["hours"]))


def set_hours_told(rng: np.random.Generator, state: State) -> Request:
    title, hours = _a_project(rng, state)["title"], int(rng.integers(1000, 5000))
    text = (
        f"In the table projects, which has the columns title and hours, set the hours of "
        f"'{title}' to {hours}."
    )
    return Request(text, in_turn(_set_hours(title, hours)))


def earnings(rng: np.random.Generator, state: State) -> Request:
    column = state["columns"]["salary"]
    person = _an_employee(rng, state)
    sql = f"SELECT {column} FROM employees WHERE name = '{person['name']}'"
    steps = _reading_schema("employees") + in_turn(_query(sql))
    return Request(f"How much does {person['name']} earn?", steps, str(person[column]))


def set_budget(rng: np.random.Generator, state: State) -> Request:
    department, column = _a_department(rng, state), state["columns"]["budget"]
    money = int(rng.integers(10_001, 99_999))
    sql = f"UPDATE departments SET {column} = {money} WHERE name = '{department['name']}'"
    text = f"The department {department['name']} may spend {money} from now on: enter that."
    return Request(text, _reading_schema("departments") + in_turn(_update(sql)))


def hire(rng: np.random.Generator, state: State) -> Request:
    columns, department = state["columns"], _a_department(rng, state)
    name, id, pay = pick(rng, _NEW), int(rng.integers(1000, 10_000)), int(rng.integers(2000, 9000))
    city = _an_employee(rng, state)[columns["city"]]
    sql = (
        f"INSERT INTO employees (id, name, department_id, {columns['city']}, {columns['salary']}) "
        f"SELECT {id}, '{name}', id, '{city}', {pay} FROM departments "
        f"WHERE name = '{department['name']}'"
    )
    text = (
        f"{name} joins the department {department['name']}, lives in {city} and earns {pay}. "
        f"Enter that under the id {id}."
    )
    return Request(text, _reading_schema("employees", "departments") + in_turn(_update(sql)))


def hours_of_department(rng: np.random.Generator, state: State) -> Request | None:
    department = _a_department(rng, state)
    hours = sum(
        project["hours"]
        for project in _rows_of_table(state, "projects")
        if _department_of(state, project["lead_id"]) == department["name"]
    )
    if not hours:
        return None
    sql = (
        "SELECT SUM(hours) FROM projects JOIN employees ON lead_id = employees.id "
        f"JOIN departments ON department_id = departments.id WHERE departments.name = "
        f"'{department['name']}'"
    )
    steps = _reading_schema("projects", "employees", "departments") + in_turn(_query(sql))
    text = (
        f"How many hours have all projects together that are led by people of the department "
        f"{department['name']}?"
    )
    return Request(text, steps, str(hours))


def dissolve(rng: np.random.Generator, state: State) -> Request:
    one, two = pick_two(rng, _rows_of_table(state, "departments"))
    where = "(SELECT id FROM departments WHERE name = '{}')"
    sql = (
        f"UPDATE employees SET department_id = {where.format(two['name'])} "
        f"WHERE department_id = {where.format(one['name'])}"
    )
    steps = _reading_schema("employees", "departments") + in_turn(
        _update(sql), _update(f"DELETE FROM departments WHERE name = '{one['name']}'")
    )
    text = (
        f"Everyone in the department {one['name']} goes to the department {two['name']}, and "
        f"{one['name']} is closed: enter both."
    )
    return Request(text, steps)


def set_hours_of_best_paid(rng: np.random.Generator, state: State) -> Request | None:
    column, department = state["columns"]["salary"], _a_department(rng, state)
    people = [
        (person[column], int(id))
        for id, person in state["tables"]["employees"].items()
        if _department_of(state, int(id)) == department["name"]
    ]
    best = max(people, default=(0, 0))
    led = [
        project for project in _rows_of_table(state, "projects") if project["lead_id"] == best[1]
    ]
    if not led or sum(pay == best[0] for pay, _ in people) > 1:
        return None
    hours = int(rng.integers(1000, 5000))
    sql = (
        "SELECT employees.id FROM employees JOIN departments ON department_id = departments.id "
        f"WHERE departments.name = '{department['name']}' ORDER BY {column} DESC LIMIT 1"
    )
    steps = _reading_schema("employees", "departments", "projects") + in_turn(
        _query(sql), _update(f"UPDATE projects SET hours = {hours} WHERE lead_id = {best[1]}")
    )
    text = (
        f"Set the hours of every project of the person who earns most in the department "
        f"{department['name']} to {hours}."
    )
    return Request(text, steps)


def set_hours_to_what(rng: np.random.Generator, state: State) -> Request:
    title, hours = _a_project(rng, state)["title"], int(rng.integers(1000, 5000))
    text = (
        f"In the table projects, which has the columns title and hours, correct the hours of "
        f"'{title}'."
    )
    return Request(text, in_turn(_set_hours(title, hours)), reply=f"They are {hours}.")


def misnamed_column(rng: np.random.Generator, state: State) -> Request:
    column, person = state["columns"]["salary"], _an_employee(rng, state)
    sql = f"SELECT {{}} FROM employees WHERE name = '{person['name']}'"
    steps = in_turn(
        _query(sql.format("earnings")),
        ("describe_table", {"table": "employees"}),
        _query(sql.format(column)),
    )
    text = (
        f"What are the earnings of {person['name']}? They are in the table employees, in a column "
        "earnings or the like."
    )
    return Request(text, steps, str(person[column]))


def dismiss(rng: np.random.Generator, state: State) -> Request | None:
    (one, name), (two, heir) = pick_two(
        rng, [(int(id), row["name"]) for id, row in state["tables"]["employees"].items()]
    )
    if not any(project["lead_id"] == one for project in _rows_of_table(state, "projects")):
        return None
    leave = _update(f"DELETE FROM employees WHERE name = '{name}'")
    steps = _reading_schema("employees") + in_turn(
        leave,
        ("describe_table", {"table": "projects"}),
        _update(f"UPDATE projects SET lead_id = {two} WHERE lead_id = {one}"),
        leave,
    )
    text = (
        f"{name} leaves the company: delete the entry. Should projects be left without a lead, "
        f"{heir} leads them."
    )
    return Request(text, steps)


def _query(sql: str) -> Step:
    return "query_database", {"sql": sql}


def _update(sql: str) -> Step:
    return "update_database", {"sql": sql}


def _set_hours(title: str, hours: int) -> Step:
    return _update(f"UPDATE projects SET hours = {hours} WHERE title = '{title}'")


def _reading_schema(*tables: str) -> Turns:
    describe: tuple[Step, ...] = tuple(("describe_table", {"table": table}) for table in tables)
    return (("list_tables", {}),), describe


def _rows_of_table(state: State, table: str) -> list[dict[str, Any]]:
    return list(state["tables"][table].values())


def _a_project(rng: np.random.Generator, state: State) -> dict[str, Any]:
    return pick(rng, _rows_of_table(state, "projects"))


def _an_employee(rng: np.random.Generator, state: State) -> dict[str, Any]:
    return pick(rng, _rows_of_table(state, "employees"))


def _a_department(rng: np.random.Generator, state: State) -> dict[str, Any]:
    return pick(rng, _rows_of_table(state, "departments"))


def _department_of(state: State, employee: int) -> str:
    person = state["tables"]["employees"][str(employee)]
    return str(state["tables"]["departments"][str(person["department_id"])]["name"])


ENTRIES = (
    FamilyEntry(1, hours_told),
    FamilyEntry(1, set_hours_told),
    FamilyEntry(3, earnings),
    FamilyEntry(3, set_budget),
    FamilyEntry(4, hire),
    FamilyEntry(5, hours_of_department),
    FamilyEntry(5, dissolve),
    FamilyEntry(6, set_hours_of_best_paid),
    FamilyEntry(1, set_hours_to_what, "ask"),
    FamilyEntry(3, misnamed_column, "recover"),
    FamilyEntry(6, dismiss, "recover"),
    *NO_TOOL,
)
