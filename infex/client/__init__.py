"""A study that is served elsewhere, asked as if it were here; needs nothing beside infex itself."""

from infex.client.async_client import AsyncClient
from infex.client.client import Client
from infex.client.remote_decision import RemoteDecision

__all__ = ["AsyncClient", "Client", "RemoteDecision"]
