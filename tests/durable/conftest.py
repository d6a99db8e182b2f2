"""Where runs of several processes are stored."""

from tests.checkpoint.conftest import postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]
