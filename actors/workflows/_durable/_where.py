# A workflow inside of a run has a place: the executors that it is in, each with the number of the
# message that began it, since one executor may have begun several.
"""Where in a run a workflow is: what it is stored under, and part of what names its turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from actors.workflows._running._conductor import Conductor

Place = tuple[str, ...]


def place_of(conductor: Conductor) -> Place:
    """Return where the graph of *conductor* is stored."""
    parent = getattr(conductor, "parent", None)
    if parent is None:
        return ()
    nested: Any = conductor
    return (*place_of(parent), part_of(nested.host.id, nested.key))


def part_of(host: str, key: int) -> str:
    """Name a child among those of its parent."""
    return f"{host}#{key}"


def key_in(part: str) -> int:
    """Return the key of the child that `part_of` named."""
    return int(part.rpartition("#")[2])
