"""Environments and graders over HTTP: ``mint-envs serve``. Needs: pip install 'mint-envs[serve]'.

    from mint_envs.serve import Settings, make_app
    app = make_app(Settings(offers=("mint/Math-v0",)))      # an ASGI application

The event loop only reads, checks and answers; whatever is scored or played runs in an ``Executor``.
"""

from .app import make_app
from .settings import Settings

__all__ = ["Settings", "make_app"]
