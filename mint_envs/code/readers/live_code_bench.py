"""LiveCodeBench (code_generation, and _lite): scripts and functions, private tests too."""

from __future__ import annotations

import base64
import binascii
import io
import json
import pickle
import zlib
from typing import Any, NoReturn

from ...datasets import Row
from ...errors import SettingError
from ..cases import Plan
from ..problems import CodeProblem
from .reader import Reader, call_plan, parsed, script_plan, sequences, solution_of

_MOST_BYTES = 1 << 30


def _read_live_code_bench(row: Row) -> CodeProblem:
    tests = [*parsed(row["public_test_cases"]), *private_tests(row.get("private_test_cases"))]
    told = parsed(row.get("metadata") or "{}")
    text = str(row["question_content"]).strip()
    if starter := str(row.get("starter_code") or "").strip():
        text = f"{text}\n\n{starter}"
    plan = typed_plan(tests, told.get("func_name"))
    return CodeProblem(text, plan, solution_of(row))


def typed_plan(tests: list[Any], name: Any) -> Plan:
    """Return the plan of tests with ``input``, ``output`` and ``testtype``.

    Raises:
        SettingError: they are of several types, or of one that is not known.
    """
    types = {test.get("testtype") or "stdin" for test in tests}
    pairs = [(test["input"], test["output"]) for test in tests]
    if types == {"functional"}:
        return call_plan(name, [(_values(one), sequences(json.loads(other)))
                                for one, other in pairs])  # fmt: skip
    if types != {"stdin"}:
        raise SettingError(f"testtype: {', '.join(sorted(types)) or 'there is no test'}")
    return script_plan(pairs, "livecodebench", imports=True)


def _values(text: str) -> list[Any]:
    """Return the arguments of a call: each line is one, as JSON."""
    return [json.loads(line) for line in text.split("\n")]


def private_tests(value: Any) -> list[Any]:
    """Return the tests of a text that is JSON, or JSON pickled, packed and written in base64.

    Raises:
        SettingError: it is neither.
    """
    if not value:
        return []
    if isinstance(value, list) or str(value).lstrip().startswith("["):
        found = parsed(value)
    else:
        found = parsed(unpickled(str(value)))
    if not isinstance(found, list):
        raise SettingError("private_test_cases: no list of tests")
    return found


def _unpacked(text: str) -> bytes:
    try:
        packed = zlib.decompressobj()
        data = packed.decompress(base64.b64decode(text, validate=True), _MOST_BYTES)
    except (binascii.Error, zlib.error) as error:
        raise SettingError(f"private_test_cases: {error}") from None
    if not packed.eof:
        raise SettingError(f"private_test_cases: cut, or more than {_MOST_BYTES >> 20} MiB")
    return data


class _NoClasses(pickle.Unpickler):
    """Reads a pickle of plain data, and finds no class: nothing in it can run."""

    def find_class(self, module: str, name: str) -> NoReturn:
        raise pickle.UnpicklingError(f"it names {module}.{name}")

    def persistent_load(self, name: Any) -> NoReturn:
        raise pickle.UnpicklingError("it names something outside")


def unpickled(text: str) -> Any:
    """Return what a text holds that was pickled, packed and written in base64: plain data.

    Raises:
        SettingError: it is no such text, or the pickle names a class or a function.
    """
    try:
        return _NoClasses(io.BytesIO(_unpacked(text))).load()
    except SettingError:
        raise
    except Exception as error:  # a broken pickle raises many kinds
        raise SettingError(f"private_test_cases: no pickle of plain data: {error}") from None


READER = Reader("LiveCodeBench", ("question_content", "public_test_cases"), _read_live_code_bench)
