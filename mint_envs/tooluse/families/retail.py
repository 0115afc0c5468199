"""Requests to the back office of the shop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..toolkits.retail import Retail
from .common import NO_TOOL, FamilyEntry, Request, Step, in_turn, pick

State = Mapping[str, Any]


def price(rng: np.random.Generator, state: State) -> Request:
    product = pick(rng, list(state["products"].values()))
    steps = in_turn(("find_products", {"text": product["name"]}))
    return Request(f"What does the {product['name']} cost?", steps, str(product["price"]))


def total(rng: np.random.Generator, state: State) -> Request:
    id = pick(rng, list(state["orders"]))
    steps = in_turn(("get_order", {"order_id": id}))
    return Request(f"What is the total of order {id}?", steps, str(state["orders"][id]["total"]))


def cancel_order(rng: np.random.Generator, state: State) -> Request | None:
    id, order = _an_order(rng, state, "pending")
    if order is None:
        return None
    steps = in_turn(("cancel_order", {"order_id": id, "email": order["email"]}))
    return Request(f"I am {order['email']}. Cancel my order {id}.", steps)


def refund(rng: np.random.Generator, state: State) -> Request | None:
    id, order = _an_order(rng, state, "delivered")
    if order is None or order["days"] > 30:
        return None
    steps = in_turn(("refund_order", {"order_id": id, "email": order["email"]}))
    text = f"I am {order['email']}. Refund my order {id}: how much do I get back?"
    return Request(text, steps, _last_result(state, steps[-1][0]))


def buy(rng: np.random.Generator, state: State) -> Request | None:
    email, count = pick(rng, list(state["customers"])), int(rng.integers(1, 6))
    product, name = _in_stock(rng, state, count)
    if product is None:
        return None
    steps = in_turn(("find_products", {"text": name}), _place_order(email, product, count))
    return Request(f"I am {email}. I want {count} of the {name}: order them.", steps)


def change_by_name(rng: np.random.Generator, state: State) -> Request | None:
    found = _only_pending(rng, state)
    if found is None:
        return None
    id, order, name = found
    count = int(rng.integers(1, 6))
    stock = state["products"][order["product"]]["stock"]
    if count == order["quantity"] or count - order["quantity"] > stock:
        return None
    change = {"order_id": id, "email": order["email"], "quantity": count}
    steps = in_turn(*_looking_up(name, order), ("change_quantity", change))
    text = f"{name} is on the phone: the order that is still pending shall be of {count} pieces."
    return Request(text, steps)


def refund_by_name(rng: np.random.Generator, state: State) -> Request | None:
    id, order = _an_order(rng, state, "delivered")
    if order is None or order["days"] > 30 or not _only_of_its_product(state, order):
        return None
    name, product = _name_of(state, order), state["products"][order["product"]]["name"]
    steps = in_turn(
        *_looking_up(name, order),
        ("find_products", {"text": product}),
        ("refund_order", {"order_id": id, "email": order["email"]}),
    )
    text = f"{name} brings back the {product}. Refund that order: how much is paid back?"
    return Request(text, steps, _last_result(state, steps[-1][0]))


def exchange(rng: np.random.Generator, state: State) -> Request | None:
    steps_and_text = _exchanged(rng, state)
    if steps_and_text is None:
        return None
    steps, text, _ = steps_and_text
    return Request(text, in_turn(*steps))


def exchange_and_send(rng: np.random.Generator, state: State) -> Request | None:
    steps_and_text = _exchanged(rng, state)
    if steps_and_text is None:
        return None
    steps, text, email = steps_and_text
    address = f"{rng.integers(100, 1000)} New Street"
    new = {"order_id": _last_result(state, *steps), "email": email, "address": address}
    wanted = f"{text} Send the new order to {address}."
    return Request(wanted, in_turn(*steps, ("change_address", new)))


def cancel_if_possible(rng: np.random.Generator, state: State) -> Request | None:
    id, order = _an_order(rng, state, pick(rng, ["shipped", "delivered", "pending"]))
    if order is None:
        return None
    steps = in_turn(
        ("cancel_order", {"order_id": id, "email": order["email"]}),
        ("get_order", {"order_id": id}),
    )
    text = (
        f"I am {order['email']}. Cancel my order {id}, if the rules let you. Whether they do or "
        "not: what is its total?"
    )
    return Request(text, steps, str(order["total"]))


def as_many_as_there_are(rng: np.random.Generator, state: State) -> Request | None:
    id, order = _an_order(rng, state, "pending")
    if order is None:
        return None
    most = order["quantity"] + state["products"][order["product"]]["stock"]
    if not order["quantity"] < most < 5:
        return None
    change = {"order_id": id, "email": order["email"]}
    steps = in_turn(
        ("change_quantity", {**change, "quantity": 5}),
        ("get_order", {"order_id": id}),
        ("change_quantity", {**change, "quantity": most}),
    )
    text = f"I am {order['email']}. Make it 5 pieces in my order {id}, or else as many as you can."
    return Request(text, steps)


def second_choice(rng: np.random.Generator, state: State) -> Request | None:
    email, count = pick(rng, list(state["customers"])), int(rng.integers(3, 6))
    product, name = _in_stock(rng, state, count)
    short = [(id, p["name"]) for id, p in state["products"].items() if p["stock"] < count]
    if product is None or not short:
        return None
    first, first_name = pick(rng, short)
    steps = in_turn(
        ("find_products", {"text": first_name}),
        _place_order(email, first, count),
        ("find_products", {"text": name}),
        _place_order(email, product, count),
    )
    text = (
        f"I am {email}. Order {count} of the {first_name} for me; if there are not enough, order "
        f"{count} of the {name} instead."
    )
    return Request(text, steps)


def send_where(rng: np.random.Generator, state: State) -> Request | None:
    id, order = _an_order(rng, state, "pending")
    if order is None:
        return None
    address = f"{rng.integers(100, 1000)} New Street"
    change = {"order_id": id, "email": order["email"], "address": address}
    text = f"I am {order['email']}. Send my order {id} to another address."
    return Request(text, in_turn(("change_address", change)), reply=f"To {address}")


def _exchanged(rng: np.random.Generator, state: State) -> tuple[list[Step], str, str] | None:
    found = _only_pending(rng, state)
    if found is None:
        return None
    id, order, name = found
    count = int(rng.integers(1, 6))
    product, product_name = _in_stock(rng, state, count)
    if product in (None, order["product"]):
        return None
    email = order["email"]
    steps: list[Step] = [
        *_looking_up(name, order),
        ("cancel_order", {"order_id": id, "email": email}),
        ("find_products", {"text": product_name}),
        _place_order(email, str(product), count),
    ]
    text = (
        f"{name} is on the phone: cancel the order that is still pending, and order {count} of the "
        f"{product_name} instead."
    )
    return steps, text, email


def _place_order(email: str, product: str, count: int) -> Step:
    return "place_order", {"email": email, "product_id": product, "quantity": count}


def _looking_up(name: str, order: Mapping[str, Any]) -> Iterator[Step]:
    yield "find_customers", {"name": name}
    yield "list_orders", {"email": order["email"]}


def _an_order(rng: np.random.Generator, state: State, status: str) -> tuple[str, Any]:
    found = [(id, order) for id, order in state["orders"].items() if order["status"] == status]
    return pick(rng, found) if found else ("", None)


def _only_pending(rng: np.random.Generator, state: State) -> tuple[str, Any, str] | None:
    """Return id, order and customer's name of a pending order, the only one of its customer."""
    id, order = _an_order(rng, state, "pending")
    if order is None:
        return None
    others = [o for o in state["orders"].values() if o["email"] == order["email"]]
    if sum(o["status"] == "pending" for o in others) > 1:
        return None
    return id, order, _name_of(state, order)


def _only_of_its_product(state: State, order: Mapping[str, Any]) -> bool:
    key = order["email"], order["product"]
    return sum((o["email"], o["product"]) == key for o in state["orders"].values()) == 1


def _name_of(state: State, order: Mapping[str, Any]) -> str:
    return str(state["customers"][order["email"]]["name"])


def _in_stock(rng: np.random.Generator, state: State, count: int) -> tuple[str | None, str]:
    found = [(id, p["name"]) for id, p in state["products"].items() if p["stock"] >= count]
    return pick(rng, found) if found else (None, "")


def _last_result(state: State, *steps: Step) -> str:
    """Return the result of the last of these calls."""
    kit = Retail()
    kit.restore(state)
    return [kit.run(*step).text for step in steps][-1]


ENTRIES = (
    FamilyEntry(1, price),
    FamilyEntry(1, total),
    FamilyEntry(1, cancel_order),
    FamilyEntry(1, refund),
    FamilyEntry(2, buy),
    FamilyEntry(3, change_by_name),
    FamilyEntry(4, refund_by_name),
    FamilyEntry(5, exchange),
    FamilyEntry(6, exchange_and_send),
    FamilyEntry(1, send_where, "ask"),
    FamilyEntry(2, cancel_if_possible, "recover"),
    FamilyEntry(3, as_many_as_there_are, "recover"),
    FamilyEntry(4, second_choice, "recover"),
    *NO_TOOL,
)
