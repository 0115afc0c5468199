"""Policies for no tool, calculator, Python, the key-value store and files."""

from __future__ import annotations

import re
from typing import Any

from policies import Player, on

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
