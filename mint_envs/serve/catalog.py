"""What is offered: registered ids with the operator's settings, and what clients may change.

A client's settings reach the constructor of a task, and some of those open files, fetch from the
hub or call an address. So all settings are the operator's, but for the harmless ones that the
family's record lists and those that he allowed by name; and an offer with a data set takes none
from clients, since each change would load the set again.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

import gymnasium as gym

from ..core import Task
from ..errors import MintEnvsError, SettingError, did_you_mean, require
from ..family import BUILT_IN
from ..forms import Form
from ..loading import imported
from ..registration import env_ids, family_of, find_spec, make_task, settings_of, unknown_id
from .settings import Settings

_TASKS = 256

Value = bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class Offer:
    """An id under a name, with the operator's settings, and the names of the clients' own."""

    name: str
    id: str
    settings: Mapping[str, Any]
    free: frozenset[str]


class Catalog:
    """The offers, and their tasks, made when they are asked for.

    Raises:
        SettingError: an offer names no id, or cannot be made.
    """

    def __init__(self, settings: Settings) -> None:
        self._max_program_s = settings.max_program_s
        self._tasks: OrderedDict[tuple[str, str], Task[Any]] = OrderedDict()
        self._lock = threading.Lock()
        allowed = [_allowed_setting(text) for text in settings.allowed]
        self.left_out: dict[str, str] = {}
        self.offers: dict[str, Offer] = {}
        for text in settings.offers or env_ids():
            self._add(text, allowed, required=bool(settings.offers))

    def _add(self, text: str, allowed: list[tuple[str, str]], required: bool) -> None:
        offer = _offer(text, allowed)
        require(offer.name not in self.offers, f"two offers have the name {offer.name!r}")
        self.offers[offer.name] = offer
        try:
            self.task(offer.name, {})
        except MintEnvsError as error:
            if required:
                raise
            del self.offers[offer.name]
            self.left_out[offer.name] = str(error)

    def offer(self, name: str) -> Offer:
        """Return the offer of a name.

        Raises:
            SettingError: there is none.
        """
        if name not in self.offers:
            raise SettingError(
                f"env={name[:80]!r} is not served. {did_you_mean(name[:80], self.offers)}"
            )
        return self.offers[name]

    def task(self, name: str, wanted: Mapping[str, Value]) -> Task[Any]:
        """Return the task of an offer, with a client's settings.

        Raises:
            SettingError: no such offer, a setting that is not the client's to choose, or a value
                that the task refuses.
        """
        offer = self.offer(name)
        self._check(offer, wanted)
        key = name, json.dumps(wanted, sort_keys=True)
        with self._lock:
            if key in self._tasks:
                self._tasks.move_to_end(key)
                return self._tasks[key]
        kwargs = dict(gym.spec(offer.id).kwargs)
        task = make_task(kwargs.pop("task"), {**kwargs, **offer.settings, **wanted})
        with self._lock:
            task = self._tasks.setdefault(key, task)
            self._evict()
        return task

    def _check(self, offer: Offer, wanted: Mapping[str, Value]) -> None:
        for name, value in wanted.items():
            if name not in offer.free:
                raise SettingError(
                    f"the setting {name[:80]!r} of {offer.name!r} is for the operator to choose "
                    f"(mint-envs serve --offer). Yours: {', '.join(sorted(offer.free)) or 'none'}."
                )
            text = json.dumps(value)
            require(
                len(text) <= 1000, f"the setting {name!r} has {len(text)} characters: 1000 at most"
            )
        self.check_seconds(wanted)

    def check_seconds(self, wanted: Mapping[str, Any]) -> None:
        """Raise SettingError if a client wants a program to run longer than is allowed."""
        seconds = wanted.get("sandbox_timeout_s")
        if isinstance(seconds, int | float) and seconds > self._max_program_s:
            raise SettingError(
                f"sandbox_timeout_s={seconds!r}: this server allows {self._max_program_s:g} at most"
            )

    def _evict(self) -> None:
        """Forget tasks of clients' settings; those of the offers themselves stay."""
        extra = [key for key in self._tasks if key[1] != "{}"]
        for key in extra[: max(0, len(extra) - _TASKS)]:
            del self._tasks[key]


def grader_items() -> dict[str, type[Form]]:
    """Return the form of an item of each grader, by the name of the family's folder."""
    found = {}
    for id, task in BUILT_IN.items():
        if grader := family_of(id).grader:
            found[task.split(".")[1]] = imported(grader)
    return found


def _allowed_setting(text: str) -> tuple[str, str]:
    id, _, name = text.rpartition(":")
    require(bool(id and name), f"allow={text!r} must look like 'mint/My-v0:setting'")
    require(name in settings_of(id), f"allow={text!r}: {id} has no setting {name!r}")
    return id, name


def _offer(text: str, allowed: list[tuple[str, str]]) -> Offer:
    """Read ``"NAME=ID?setting=value&..."``; values are JSON where they can be, else text.

    The id may be ``module:id``, as elsewhere; clients see it without the module.
    """
    front, _, query = text.partition("?")
    name, _, asked = front.rpartition("=")
    try:
        id = find_spec(asked).id
    except gym.error.Error as error:
        raise SettingError(f"offer={text!r}: {unknown_id(asked)}") from error
    require(id in env_ids(), f"offer={text!r}: {id} is not an environment of mint_envs.register")
    settings = {key: _query_value(value) for key, value in parse_qsl(query, keep_blank_values=True)}
    defaults = {key: one.default for key, one in settings_of(id).items()}
    own = frozenset(n for i, n in allowed if i == id)
    fixed = settings.get("dataset", defaults.get("dataset")) is not None
    free = own if fixed else family_of(id).client_settings | own
    return Offer(
        name or text.replace(asked, id, 1), id, settings, (free & set(defaults)) - set(settings)
    )


def _query_value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
