"""The back office of a small shop: customers, products, orders and refunds, with rules."""

from __future__ import annotations

import zlib
from typing import Annotated, Any

import numpy as np

from .tools import ToolError, Toolkit, tool

_FIRST = ("Ada", "Ben", "Chen", "Dora", "Emil", "Fatima", "Goran", "Hana", "Ivo", "Julia")
_LAST = ("Brandt", "Okafor", "Wei", "Silva", "Novak", "Noor", "Ilic", "Sato", "Marek", "Roth")
_STREETS = ("Mill Lane", "Harbour Street", "Elm Road", "Station Square", "Castle Hill")
_ADJECTIVES = ("oak", "steel", "blue", "folding", "small", "round")
_THINGS = ("chair", "lamp", "table", "shelf", "kettle", "clock")
_STATUSES = ("pending", "pending", "shipped", "delivered", "delivered")
_MAX_ORDERS, _MAX_ADDRESS, _MAX_PIECES = 100, 200, 5
_REFUND_DAYS, _FULL_REFUND_DAYS = 30, 14

Email = Annotated[str, "the customer's email address"]
OrderId = Annotated[str, "for example O-1234"]
Quantity = Annotated[int, "pieces, 1 to 5"]
Record = dict[str, Any]


class Retail(Toolkit):
    """State: ``{"salt": int, "customers": {email: ...}, "products": {id: ...}, "orders": {id: ...}}``.

    An order is of one product. Every change of an order needs the email of the customer whose
    order it is. The rules stand in the descriptions of the tools, and the tools keep them.
    """  # noqa: E501

    name = "retail"
    call_s = None

    def initial(self, rng: np.random.Generator) -> dict[str, Any]:
        customers = dict(_draw_customer(rng, i) for i in rng.permutation(10)[:4].tolist())
        products = dict(_draw_product(rng, i) for i in rng.permutation(36)[:6].tolist())
        numbers = (rng.permutation(9000)[:9] + 1000).tolist()
        emails = [*customers, *(list(customers)[int(i)] for i in rng.integers(0, 4, 5))]
        orders = {
            f"O-{number}": _draw_order(rng, email, customers[email], products)
            for number, email in zip(numbers, emails, strict=True)
        }
        salt = int(rng.integers(10**6))
        return {"salt": salt, "customers": customers, "products": products, "orders": orders}

    @tool
    def find_customers(
        self, name: Annotated[str, "part of a name, upper and lower case alike"]
    ) -> list[Record]:
        """Return the customers with such a name: email, name and address."""
        found = self.state["customers"].items()
        wanted = name.casefold()
        return [{"email": e, **c} for e, c in found if wanted in c["name"].casefold()]

    @tool
    def list_orders(self, email: Email) -> list[Record]:
        """Return the orders of a customer: id, product and status."""
        self._customer(email)
        return [
            {"id": id, "product": order["product"], "status": order["status"]}
            for id, order in self._orders.items()
            if order["email"] == email
        ]

    @tool
    def get_order(self, order_id: OrderId) -> Record:
        """Return all about an order: customer, product, quantity, total, status, days since."""
        return dict(self._order(order_id))

    @tool
    def find_products(
        self, text: Annotated[str, "part of a name, upper and lower case alike"]
    ) -> list[Record]:
        """Return the products with such a name: id, name, price, pieces in stock."""
        found = self.state["products"].items()
        wanted = text.casefold()
        return [{"id": id, **p} for id, p in found if wanted in p["name"].casefold()]

    @tool
    def place_order(
        self, email: Email, product_id: Annotated[str, "for example P-123"], quantity: Quantity
    ) -> str:
        """Order a product for a customer, to the customer's address, and return the order's id.
        Rule: at most 5 pieces, and no more than are in stock."""
        customer, product = self._customer(email), self._product(product_id)
        if len(self._orders) >= _MAX_ORDERS:
            raise ToolError(f"the shop is full: it holds {_MAX_ORDERS} orders")
        _take_stock(product, quantity, 0)
        id = _new_order_id(self.state, f"{email} {product_id}")
        self._orders[id] = {
            "email": email, "product": product_id, "quantity": quantity,
            "total": quantity * product["price"], "status": "pending", "days": 0,
            "address": customer["address"], "refunded": 0,
        }  # fmt: skip
        return id

    @tool
    def cancel_order(self, order_id: OrderId, email: Email) -> None:
        """Cancel an order; its pieces go back to the stock. Rule: only a pending order."""
        order = self._pending(order_id, email, "cancelled")
        self._product(order["product"])["stock"] += order["quantity"]
        order["status"] = "cancelled"

    @tool
    def change_quantity(self, order_id: OrderId, email: Email, quantity: Quantity) -> None:
        """Order more or fewer pieces; total and stock follow. Rule: only a pending order, at most
        5 pieces, and no more than are in stock."""
        order = self._pending(order_id, email, "changed")
        product = self._product(order["product"])
        _take_stock(product, quantity, order["quantity"])
        order["quantity"], order["total"] = quantity, quantity * product["price"]

    @tool
    def change_address(
        self, order_id: OrderId, email: Email, address: Annotated[str, "the new address"]
    ) -> None:
        """Send an order to another address. Rule: only a pending order."""
        if not address.strip() or len(address) > _MAX_ADDRESS:
            raise ToolError(f"an address has 1 to {_MAX_ADDRESS} characters")
        self._pending(order_id, email, "changed")["address"] = address

    @tool
    def refund_order(self, order_id: OrderId, email: Email) -> int:
        """Refund an order and return the amount. Rules: only a delivered order, only once, at most
        30 days after; from the 15th day on 10 percent are kept."""
        order = self._owned(order_id, email)
        if order["status"] != "delivered":
            raise ToolError(f"{order_id} is {order['status']}: only delivered orders are refunded")
        if order["refunded"]:
            raise ToolError(f"{order_id} was refunded before")
        if order["days"] > _REFUND_DAYS:
            raise ToolError(f"{order_id} is {order['days']} days old: too late for a refund")
        late = order["days"] > _FULL_REFUND_DAYS
        order["refunded"] = order["total"] * (9 if late else 10) // 10
        return int(order["refunded"])

    @property
    def _orders(self) -> dict[str, Record]:
        orders: dict[str, Record] = self.state["orders"]
        return orders

    def _customer(self, email: str) -> Record:
        if email not in self.state["customers"]:
            raise ToolError(f"there is no customer {email[:80]!r}; find_customers gives emails")
        customer: Record = self.state["customers"][email]
        return customer

    def _product(self, id: str) -> Record:
        if id not in self.state["products"]:
            raise ToolError(f"there is no product {id[:80]!r}; find_products gives ids")
        product: Record = self.state["products"][id]
        return product

    def _order(self, id: str) -> Record:
        if id not in self._orders:
            raise ToolError(f"there is no order {id[:80]!r}; list_orders gives ids")
        return self._orders[id]

    def _owned(self, id: str, email: str) -> Record:
        """Return an order, if it is this customer's: the one check that keeps others' apart."""
        order = self._order(id)
        if order["email"] != email:
            raise ToolError(f"{id} is not an order of {email[:80]!r}")
        return order

    def _pending(self, id: str, email: str, what: str) -> Record:
        order = self._owned(id, email)
        if order["status"] != "pending":
            raise ToolError(f"{id} is {order['status']}: only a pending order can be {what}")
        return order


def _take_stock(product: Record, quantity: int, before: int) -> None:
    """Take pieces from the stock, in place of those taken ``before``."""
    if not 1 <= quantity <= _MAX_PIECES:
        raise ToolError(f"an order has 1 to {_MAX_PIECES} pieces")
    if quantity - before > product["stock"]:
        raise ToolError(f"only {product['stock']} more pieces of {product['name']!r} are in stock")
    product["stock"] -= quantity - before


def _new_order_id(state: dict[str, Any], text: str) -> str:
    number = zlib.crc32(f"{state['salt']} {text}".encode(errors="replace"))
    while (id := f"O-{1000 + number % 9000}") in state["orders"]:
        number += 1
    return id


def _draw_customer(rng: np.random.Generator, number: int) -> tuple[str, Record]:
    first, last = _FIRST[number], _LAST[int(rng.integers(len(_LAST)))]
    email = f"{first}.{last}{rng.integers(10, 100)}@example.com".lower()
    street = _STREETS[int(rng.integers(len(_STREETS)))]
    return email, {"name": f"{first} {last}", "address": f"{rng.integers(1, 100)} {street}"}


def _draw_product(rng: np.random.Generator, number: int) -> tuple[str, Record]:
    adjective, thing = divmod(number, len(_THINGS))
    name = f"{_ADJECTIVES[adjective]} {_THINGS[thing]}"
    price, stock = 10 * int(rng.integers(2, 50)), int(rng.integers(0, 12))
    return f"P-{100 + number * 25 + int(rng.integers(25))}", {
        "name": name, "price": price, "stock": stock,
    }  # fmt: skip


def _draw_order(
    rng: np.random.Generator, email: str, customer: Record, products: dict[str, Record]
) -> Record:
    product = list(products)[int(rng.integers(len(products)))]
    quantity, status = int(rng.integers(1, 5)), _STATUSES[int(rng.integers(len(_STATUSES)))]
    return {
        "email": email, "product": product, "quantity": quantity,
        "total": quantity * products[product]["price"], "status": status,
        "days": int(rng.integers(0, 3) if status == "pending" else rng.integers(3, 45)),
        "address": customer["address"], "refunded": 0,
    }  # fmt: skip
