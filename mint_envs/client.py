"""The client of ``mint-envs serve``. Needs: pip install 'mint-envs[client]'.

from mint_envs.client import Client
"""

from .serve.client import (
    Busy,
    Client,
    Environment,
    RequestRefused,
    ServerFault,
    ServiceError,
    Session,
    SessionLost,
    Shown,
    TokenRefused,
    Unreachable,
)

__all__ = [
    "Busy",
    "Client",
    "Environment",
    "RequestRefused",
    "ServerFault",
    "ServiceError",
    "Session",
    "SessionLost",
    "Shown",
    "TokenRefused",
    "Unreachable",
]
