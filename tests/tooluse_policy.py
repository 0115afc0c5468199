"""Policies that solve the requests of mint/ToolUse-v0 from the messages alone, one per pattern."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from mint_envs import Reward
from mint_envs.core import Episode
from mint_envs.tooluse import ToolUseTask

Step = tuple[str, dict[str, Any]]
Policy = Callable[["Player", Any], str | None]


def written(*calls: Step) -> str:
    bodies = [json.dumps({"name": name, "arguments": args}) for name, args in calls]
    return "\n".join(f"<tool_call>\n{body}\n</tool_call>" for body in bodies)


class Player:
    """Sends messages to an episode and reads what comes back."""

    def __init__(self, episode: Episode) -> None:
        self._episode = episode

    def do(self, *calls: Step) -> list[str]:
        reply = self._episode.respond(written(*calls))
        assert isinstance(reply, list), reply
        text = reply[0]["content"]
        return re.findall(r"<tool_response>\n(.*?)\n</tool_response>", text, re.DOTALL)

    def one(self, name: str, /, **arguments: Any) -> str:
        return self.do((name, arguments))[0]

    def data(self, name: str, /, **arguments: Any) -> Any:
        return json.loads(self.one(name, **arguments))

    def ask(self) -> str:
        reply = self._episode.respond("Something is missing.\nQuestion: What exactly?")
        assert isinstance(reply, list), reply
        return reply[0]["content"]


def solve(task: ToolUseTask, problem: Any) -> tuple[Reward, str]:
    """Play by the policy; return the reward, and the pattern of the request."""
    request = task.prompt(problem)[-1]["content"]  # type: ignore[index]
    pattern, policy = next((p, f) for p, f in POLICY.items() if re.fullmatch(p, request, re.DOTALL))
    episode = task.start(problem)
    answer = policy(Player(episode), re.fullmatch(pattern, request, re.DOTALL))
    reward = episode.respond("Done." if answer is None else f"Answer: {answer}")
    assert isinstance(reward, Reward)
    return reward, pattern


POLICY: dict[str, Policy] = {}


def on(pattern: str) -> Callable[[Policy], Policy]:
    def note(policy: Policy) -> Policy:
        POLICY[pattern] = policy
        return policy

    return note


# -- no tool, calculator, python ------------------------------------------------------------------


@on(r"The number of my (\w+) is (\d+), that of my (\w+) is (\d+)\. .* my (\w+)\?")
def _(p: Player, m: Any) -> str:
    return str({m[1]: m[2], m[3]: m[4]}[m[5]])


@on(r".*the number of this errand is (\d+)\. .*")
def _(p: Player, m: Any) -> str:
    return str(m[1])


@on(r"What is (\d+ .+)\?")
def _(p: Player, m: Any) -> str:
    return p.one("calculate", expression=m[1])


@on(r"(\d+) boxes hold (\d+) .* anew, (\d+) to .*")
def _(p: Player, m: Any) -> str:
    screws = p.one("calculate", expression=f"{m[1]} * {m[2]}")
    return p.one("calculate", expression=f"{screws} % {m[3]}")


@on(r"(\d+) chairs at (\d+) each and (\d+) lamps at (\d+) each were paid for with (\d+)\..*")
def _(p: Player, m: Any) -> str:
    return p.one("calculate", expression=f"{m[5]} - {m[1]} * {m[2]} - {m[3]} * {m[4]}")


@on(r"How much is (.+)\?")
def _(p: Player, m: Any) -> str:
    assert p.one("calculate", expression=m[1]).startswith("Error")
    return p.one("calculate", expression=m[1].replace("\u00d7", "*").replace("\u2212", "-"))


@on(r"What is the sum of the digits of (\d+ \*\* \d+)\?")
def _(p: Player, m: Any) -> str:
    return p.one("run_python", code=f"print(sum(int(d) for d in str({m[1]})))")


@on(r"Begin with (\d+)\..*")
def _(p: Player, m: Any) -> str:
    step = "    n = 3 * n + 1 if n % 2 else n // 2\n    k += 1"
    return p.one("run_python", code=f"n, k = {m[1]}, 0\nwhile n != 1:\n{step}\nprint(k)")


@on(r"This program .*\n(.*in )(.*)\)\)")
def _(p: Player, m: Any) -> str:
    assert "not iterable" in p.one("run_python", code=f"{m[1]}{m[2]}))")
    return p.one("run_python", code=f"{m[1]}str({m[2]})))")


# -- key-value store ------------------------------------------------------------------------------


@on(r"What is the value of the entry '(.+)'\?")
def _(p: Player, m: Any) -> str:
    return p.one("get_value", key=m[1])


@on(r"What is stored under '(.+)', .*")
def _(p: Player, m: Any) -> str:
    assert "list_keys" in p.one("get_value", key=m[1])
    (key,) = [key for key in p.data("list_keys") if key.casefold() == m[1].casefold()]
    return p.one("get_value", key=key)


@on(r"Set the entry '(.+)' to '(.+)'\.")
def _(p: Player, m: Any) -> None:
    p.one("set_value", key=m[1], value=m[2])


@on(r"Give the entry '(\w+)' another value\.")
def _(p: Player, m: Any) -> None:
    value = re.fullmatch(r"Make it '(.*)'\.", p.ask())
    assert value
    p.one("set_value", key=m[1], value=value[1])


@on(r"Delete the entry '(.+)'\.")
def _(p: Player, m: Any) -> None:
    p.one("delete_key", key=m[1])


@on(r"Copy the value of the entry '(.+)' to a new entry '(.+)'\.")
def _(p: Player, m: Any) -> None:
    p.one("set_value", key=m[2], value=p.one("get_value", key=m[1]))


@on(r"Rename the entry '(.+)' to '(.+)' and .+")
def _(p: Player, m: Any) -> None:
    value = p.one("get_value", key=m[1])
    p.one("delete_key", key=m[1])
    p.one("set_value", key=m[2], value=value)


@on(r"Swap the values of the entries '(.+)' and '(.+)'\.")
def _(p: Player, m: Any) -> None:
    one, two = p.do(("get_value", {"key": m[1]}), ("get_value", {"key": m[2]}))
    p.do(
        ("set_value", {"key": m[1], "value": two}),
        ("set_value", {"key": m[2], "value": one}),
    )


@on(r"Give the entry '(\w+)' the value of the entry '(\w+)' and delete .*")
def _(p: Player, m: Any) -> None:
    p.one("set_value", key=f"old_{m[1]}", value=p.one("get_value", key=m[1]))
    p.one("set_value", key=m[1], value=p.one("get_value", key=m[2]))
    p.one("delete_key", key=m[2])


@on(r"Pass three values on: '(\w+)' gets the value that '(\w+)' has now, '(\w+)' .*")
def _(p: Player, m: Any) -> None:
    two, one, three = (p.one("get_value", key=m[i]) for i in (1, 2, 3))
    for key, value in ((m[1], one), (m[3], two), (m[2], three)):
        p.one("set_value", key=key, value=value)


# -- files ----------------------------------------------------------------------------------------


@on(r"What does the file (\S+) say\?")
def _(p: Player, m: Any) -> str:
    return p.one("read_file", path=m[1])


@on(r"Write a file (\S+) with exactly this text: (.+)")
def _(p: Player, m: Any) -> None:
    p.one("write_file", path=m[1], content=m[2])


@on(r"Write my memo to the file (\S+)\.")
def _(p: Player, m: Any) -> None:
    p.one("write_file", path=m[1], content=p.ask().removeprefix("The memo is: "))


@on(r"Move the file (\S+) to (\S+)\.")
def _(p: Player, m: Any) -> None:
    p.one("move", source=m[1], destination=m[2])


@on(r"Copy the file (\S+) to (\S+); .+")
def _(p: Player, m: Any) -> None:
    p.one("write_file", path=m[2], content=p.one("read_file", path=m[1]))


@on(r"Find the file whose text is '(.+)' and delete it\.")
def _(p: Player, m: Any) -> None:
    p.one("delete", path=p.data("search", text=m[1])[0])


@on(r"Make a directory done\. Find the file whose text is '(.+)', and .*")
def _(p: Player, m: Any) -> None:
    p.one("make_directory", path="done")
    p.one("move", source=p.data("search", text=m[1])[0], destination="done/found.txt")


@on(r"Make a directory old, .* that with the text '(.+)' becomes .* with the text '(.+)' .*")
def _(p: Player, m: Any) -> None:
    p.do(("make_directory", {"path": "old"}), ("make_directory", {"path": "old/kept"}))
    p.one("move", source=p.data("search", text=m[1])[0], destination="old/kept/one.txt")
    p.one("move", source=p.data("search", text=m[2])[0], destination="old/two.txt")


@on(r"Write a file (\S+) of two lines, .* text of (\S+), .* text of (\S+?)(; then .*)?\.")
def _(p: Player, m: Any) -> None:
    one, two = p.do(("read_file", {"path": m[2]}), ("read_file", {"path": m[3]}))
    p.one("write_file", path=m[1], content=f"{one}\n{two}")
    if m[4]:
        p.do(("delete", {"path": m[2]}), ("delete", {"path": m[3]}))


@on(r"Delete the directory (\S+) with everything in it\.")
def _(p: Player, m: Any) -> None:
    assert "not empty" in p.one("delete", path=m[1])
    for name in p.data("list_directory", path=m[1]):
        p.one("delete", path=f"{m[1]}/{name}")
    p.one("delete", path=m[1])


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
