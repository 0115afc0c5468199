"""The process behind ``fallback``: a pair of answers on each line of stdin, a verdict for each.

It holds itself to one gigabyte, and each pair to a second of CPU time; it writes no files and
starts no processes. ``latex2sympy`` is a grammar of its own (ANTLR); no text is ever given to
``sympify`` or ``parse_expr``.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from typing import Any, NoReturn

_MEMORY = 1 << 30
_CPU_S = 1.0


def main() -> None:
    from latex2sympy2_extended import latex2sympy

    latex2sympy(r"\sum_{k=1}^{3} k")  # what is loaded on first use
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, _give_up)
    _say("ready")
    for line in sys.stdin:
        _say("equal" if proves(*json.loads(line)) else "open")


def _give_up(*_: object) -> NoReturn:
    raise TimeoutError


def proves(wanted: str, given: str) -> bool:
    """Return whether the difference of the two is exactly 0."""
    from latex2sympy2_extended import latex2sympy

    signal.setitimer(signal.ITIMER_PROF, _CPU_S)
    try:
        difference = _expression(latex2sympy(wanted)) - _expression(latex2sympy(given))
        return _is_zero(difference.doit())
    except Exception:  # whatever sympy raises, and the time-out: nothing is proved
        return False
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _expression(parsed: Any) -> Any:
    import sympy

    if not isinstance(parsed, sympy.Expr) or parsed.has(sympy.Float, sympy.nan, sympy.zoo):
        raise ValueError("no exact expression")
    return parsed


def _is_zero(difference: Any) -> bool:
    import sympy

    if difference.has(sympy.Float):
        return False
    return bool(difference == 0 or sympy.simplify(difference) == 0)


def _say(word: str) -> None:
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
