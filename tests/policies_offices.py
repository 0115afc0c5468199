"""Policies for the calendar, the shop and the database."""

from __future__ import annotations

import re
from typing import Any

from policies import Player, on

# -- calendar -------------------------------------------------------------------------------------


def found(p: Player, title: str) -> dict[str, Any]:
    (event,) = p.data("find_events", text=title)
    return dict(event)


@on(r"When does the event '(.+)' begin\?.*")
def _(p: Player, m: Any) -> str:
    return str(found(p, m[1])["start"])


@on(r"Make an event '(.+)' at (.+) for (\d+) minutes\.")
def _(p: Player, m: Any) -> None:
    p.one("create_event", title=m[1], start=m[2], minutes=int(m[3]))


@on(r"Make an event '(.+)' of (\d+) minutes on (\S+)\.")
def _(p: Player, m: Any) -> None:
    clock = re.fullmatch(r"At (.*)\.", p.ask())
    assert clock
    p.one("create_event", title=m[1], start=f"{m[3]} {clock[1]}", minutes=int(m[2]))


@on(r"Cancel the event '([^']+)'\.")
def _(p: Player, m: Any) -> None:
    p.one("cancel_event", event_id=found(p, m[1])["id"])


@on(r"Make an event '(.+)' of (\d+) minutes as early as there is room on (\d\S+)\.")
def _(p: Player, m: Any) -> None:
    start = p.one("find_free_slot", day=m[3], minutes=int(m[2]))
    p.one("create_event", title=m[1], start=start, minutes=int(m[2]))


@on(r"Make an event '(.+)' of (\d+) minutes as early .* on (\w+) of this week\.")
def _(p: Player, m: Any) -> None:
    day, now = p.one("current_time").split()[:2]
    assert day == "Monday"
    ahead = ["Tuesday", "Wednesday", "Thursday", "Friday"].index(m[3]) + 1
    from datetime import date, timedelta

    wanted = (date.fromisoformat(now) + timedelta(days=ahead)).isoformat()
    start = p.one("find_free_slot", day=wanted, minutes=int(m[2]))
    p.one("create_event", title=m[1], start=start, minutes=int(m[2]))


@on(r"Move '(.+)' to the earliest time free on (\S+)\.")
def _(p: Player, m: Any) -> None:
    event = found(p, m[1])
    start = p.one("find_free_slot", day=m[2], minutes=event["minutes"])
    p.one("move_event", event_id=event["id"], start=start)


@on(r"Cancel the event '(.+)', and move the event '(.+)' to the time at which it began\.")
def _(p: Player, m: Any) -> None:
    one, two = found(p, m[1]), found(p, m[2])
    p.one("cancel_event", event_id=one["id"])
    p.one("move_event", event_id=two["id"], start=one["start"])


@on(r"Cancel the event '(.+)' and make an event '(.+)' of the .* event '(.+)' to .* on (\S+)\.")
def _(p: Player, m: Any) -> None:
    one, two = found(p, m[1]), found(p, m[3])
    p.one("cancel_event", event_id=one["id"])
    p.one("create_event", title=m[2], start=one["start"], minutes=one["minutes"])
    start = p.one("find_free_slot", day=m[4], minutes=two["minutes"])
    p.one("move_event", event_id=two["id"], start=start)


@on(r"Move the event '(.+)' to (.+), or if that is taken .*")
def _(p: Player, m: Any) -> None:
    event = found(p, m[1])
    refused = p.one("move_event", event_id=event["id"], start=m[2])
    start = re.search(r"earliest free start of that day is (.+)\.$", refused)
    assert start, refused
    p.one("move_event", event_id=event["id"], start=start[1])


# -- retail ---------------------------------------------------------------------------------------


def product(p: Player, name: str) -> dict[str, Any]:
    (only,) = p.data("find_products", text=name)
    return dict(only)


def pending(p: Player, name: str) -> tuple[str, str]:
    (customer,) = p.data("find_customers", name=name)
    orders = p.data("list_orders", email=customer["email"])
    (order,) = [order for order in orders if order["status"] == "pending"]
    return order["id"], customer["email"]


@on(r"What does the (.+) cost\?")
def _(p: Player, m: Any) -> str:
    return str(product(p, m[1])["price"])


@on(r"What is the total of order (\S+)\?")
def _(p: Player, m: Any) -> str:
    return str(p.data("get_order", order_id=m[1])["total"])


@on(r"I am (\S+)\. Cancel my order (\S+)\.")
def _(p: Player, m: Any) -> None:
    p.one("cancel_order", order_id=m[2], email=m[1])


@on(r"I am (\S+)\. Refund my order (\S+): .*")
def _(p: Player, m: Any) -> str:
    return p.one("refund_order", order_id=m[2], email=m[1])


@on(r"I am (\S+)\. I want (\d) of the (.+): order them\.")
def _(p: Player, m: Any) -> None:
    id = product(p, m[3])["id"]
    p.one("place_order", email=m[1], product_id=id, quantity=int(m[2]))


@on(r"(.+) is on the phone: .* shall be of (\d) pieces\.")
def _(p: Player, m: Any) -> None:
    id, email = pending(p, m[1])
    p.one("change_quantity", order_id=id, email=email, quantity=int(m[2]))


@on(r"(.+) brings back the (.+)\. Refund that order: .*")
def _(p: Player, m: Any) -> str:
    (customer,) = p.data("find_customers", name=m[1])
    id = product(p, m[2])["id"]
    orders = p.data("list_orders", email=customer["email"])
    (order,) = [order for order in orders if order["product"] == id]
    return p.one("refund_order", order_id=order["id"], email=customer["email"])


@on(r"(.+) is on .*: cancel .* order (\d) of the (.+) instead\.(?: Send .* to (.+)\.)?")
def _(p: Player, m: Any) -> None:
    id, email = pending(p, m[1])
    p.one("cancel_order", order_id=id, email=email)
    thing = product(p, m[3])["id"]
    new = p.one("place_order", email=email, product_id=thing, quantity=int(m[2]))
    if m[4]:
        p.one("change_address", order_id=new, email=email, address=m[4])


@on(r"I am (\S+)\. Cancel my order (\S+), if the rules let you\..*")
def _(p: Player, m: Any) -> str:
    p.one("cancel_order", order_id=m[2], email=m[1])
    return str(p.data("get_order", order_id=m[2])["total"])


@on(r"I am (\S+)\. Make it 5 pieces in my order (\S+), .*")
def _(p: Player, m: Any) -> None:
    refused = p.one("change_quantity", order_id=m[2], email=m[1], quantity=5)
    more = re.search(r"only (\d+) more", refused)
    assert more, refused
    most = p.data("get_order", order_id=m[2])["quantity"] + int(more[1])
    p.one("change_quantity", order_id=m[2], email=m[1], quantity=most)


@on(r"I am (\S+)\. Order (\d) of the (.+) for me; .* of the (.+) instead\.")
def _(p: Player, m: Any) -> None:
    for name in (m[3], m[4]):
        id = product(p, name)["id"]
        result = p.one("place_order", email=m[1], product_id=id, quantity=int(m[2]))
    assert result.startswith("O-")


@on(r"I am (\S+)\. Send my order (\S+) to another address\.")
def _(p: Player, m: Any) -> None:
    address = p.ask().removeprefix("To ")
    p.one("change_address", order_id=m[2], email=m[1], address=address)


# -- database -------------------------------------------------------------------------------------


def value(p: Player, sql: str) -> str:
    return str(p.data("query_database", sql=sql)["rows"][0][0])


def change(p: Player, sql: str) -> None:
    assert "rows_changed" in p.one("update_database", sql=sql)


def column(p: Player, table: str, *names: str) -> str:
    text = p.one("describe_table", table=table)
    (only,) = [name for name in names if re.search(rf"\b{name}\b", text)]
    return only


@on(r"In the table projects, .*: how many hours does '(\w+)' have\?")
def _(p: Player, m: Any) -> str:
    return value(p, f"SELECT hours FROM projects WHERE title = '{m[1]}'")


@on(r"In the table projects, .* set the hours of '(\w+)' to (\d+)\.")
def _(p: Player, m: Any) -> None:
    change(p, f"UPDATE projects SET hours = {m[2]} WHERE title = '{m[1]}'")


@on(r"In the table projects, .* correct the hours of '(\w+)'\.")
def _(p: Player, m: Any) -> None:
    hours = re.fullmatch(r"They are (\d+)\.", p.ask())
    assert hours
    change(p, f"UPDATE projects SET hours = {hours[1]} WHERE title = '{m[1]}'")


PAY = ("salary", "wage", "pay")


@on(r"How much does (.+) earn\?")
def _(p: Player, m: Any) -> str:
    assert "employees" in p.data("list_tables")
    return value(p, f"SELECT {column(p, 'employees', *PAY)} FROM employees WHERE name = '{m[1]}'")


@on(r"What are the earnings of (.+)\? .*")
def _(p: Player, m: Any) -> str:
    sql = f"SELECT {{}} FROM employees WHERE name = '{m[1]}'"
    assert "describe_table" in p.one("query_database", sql=sql.format("earnings"))
    return value(p, sql.format(column(p, "employees", *PAY)))


@on(r"The department (\w+) may spend (\d+) from now on: enter that\.")
def _(p: Player, m: Any) -> None:
    name = column(p, "departments", "budget", "funds", "allowance")
    change(p, f"UPDATE departments SET {name} = {m[2]} WHERE name = '{m[1]}'")


@on(r"(.+) joins the department (\w+), lives in (\w+) and earns (\d+)\. .* id (\d+)\.")
def _(p: Player, m: Any) -> None:
    home, pay = column(p, "employees", "city", "town", "location"), column(p, "employees", *PAY)
    id = value(p, f"SELECT id FROM departments WHERE name = '{m[2]}'")
    names = f"id, name, department_id, {home}, {pay}"
    change(p, f"INSERT INTO employees ({names}) VALUES ({m[5]}, '{m[1]}', {id}, '{m[3]}', {m[4]})")


@on(r"How many hours have all projects together .* department (\w+)\?")
def _(p: Player, m: Any) -> str:
    inner = f"SELECT id FROM departments WHERE name = '{m[1]}'"
    leads = f"SELECT id FROM employees WHERE department_id IN ({inner})"
    return value(p, f"SELECT sum(hours) FROM projects WHERE lead_id IN ({leads})")


@on(r"Everyone in the department (\w+) goes to the department (\w+), and .*")
def _(p: Player, m: Any) -> None:
    one, two = (value(p, f"SELECT id FROM departments WHERE name = '{m[i]}'") for i in (1, 2))
    change(p, f"UPDATE employees SET department_id = {two} WHERE department_id = {one}")
    change(p, f"DELETE FROM departments WHERE id = {one}")


@on(r"Set the hours of every project of the person .* department (\w+) to (\d+)\.")
def _(p: Player, m: Any) -> None:
    pay = column(p, "employees", *PAY)
    inner = f"SELECT id FROM departments WHERE name = '{m[1]}'"
    best = f"SELECT id, max({pay}) FROM employees WHERE department_id = ({inner})"
    change(p, f"UPDATE projects SET hours = {m[2]} WHERE lead_id = {value(p, best)}")


@on(r"(.+) leaves the company: .* without a lead, (.+) leads them\.")
def _(p: Player, m: Any) -> None:
    leave = f"DELETE FROM employees WHERE name = '{m[1]}'"
    assert "FOREIGN KEY" in p.one("update_database", sql=leave)
    one, two = (value(p, f"SELECT id FROM employees WHERE name = '{m[i]}'") for i in (1, 2))
    change(p, f"UPDATE projects SET lead_id = {two} WHERE lead_id = {one}")
    change(p, leave)
