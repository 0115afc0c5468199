"""Environments and graders over HTTP: ``mint-envs serve``. Needs: pip install 'mint-envs[serve]'.

    from mint_envs.serve import Settings, make_app
    app = make_app(Settings(offers=("mint/Math-v0",)))      # an ASGI application

The event loop only reads, checks and answers; whatever is scored or played runs in an ``Executor``.
"""

from typing import TYPE_CHECKING, Any

from .settings import Settings

if TYPE_CHECKING:
    from .app import make_app

__all__ = ["Settings", "make_app"]


def __getattr__(name: str) -> Any:
    """Load the application when it is asked for: workers need ``work`` and ``graders`` alone."""
    if name == "make_app":
        from .app import make_app

        return make_app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
