# A name stands for an actor as long as the actor lives, over its restarts. It is free again
# before anybody who watches the actor hears of its end, or whoever starts another one under the
# same name would be too early. An actor has one name at most, as in Erlang: so there are never
# more names than living actors, and nobody has to search when one of them ends.
"""Names by which the actors of one system find each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import trio

from actors._core._errors import ActorStoppedError, NameTakenError
from actors._core._phases import STOPPED

if TYPE_CHECKING:
    from actors._core._cell import Cell
    from actors._core._ref import ActorRef


class Registry:
    """The names of one system."""

    def __init__(self) -> None:
        self._cells: dict[str, Cell] = {}
        self._awaited: dict[str, trio.Event] = {}
        # The name of the system that has ended; empty before.
        self._ended = ""

    def register(self, name: str, cell: Cell) -> None:
        """Give *cell* the *name*; see `System.register`."""
        if not isinstance(name, str):
            raise TypeError(f"a registered name is a string, not {name!r}")
        if not name:
            raise ValueError("a registered name isn't empty")
        if cell.phase == STOPPED:
            raise ActorStoppedError(cell.name)
        owner = self._cells.get(name)
        if owner is cell:
            return
        if owner is not None:
            raise NameTakenError(name)
        kin = cell.family()
        if kin.registered is not None:
            raise ValueError(f"{cell.name} is registered as {kin.registered!r} already")
        kin.registered = name
        self._cells[name] = cell
        if name in self._awaited:
            self._awaited.pop(name).set()

    def whereis(self, name: str) -> ActorRef[Any] | None:
        """Return the ref of the actor that has *name*, if any."""
        cell = self._cells.get(name)
        return None if cell is None else cell.ref

    def unregister(self, name: str) -> bool:
        """Free *name*. False: nobody had it."""
        cell = self._cells.pop(name, None)
        if cell is None:
            return False
        cell.family().registered = None
        return True

    async def wait(self, name: str) -> ActorRef[Any]:
        """Wait until an actor has *name*."""
        await trio.lowlevel.checkpoint()
        while (ref := self.whereis(name)) is None:
            if self._ended:
                raise ActorStoppedError(self._ended)
            event = self._awaited.setdefault(name, trio.Event())
            try:
                await event.wait()
            finally:
                # Whoever gives up last takes the event along, or there would be one for ever.
                if not (event.is_set() or event.statistics().tasks_waiting):
                    del self._awaited[name]
        return ref

    def close(self, system: str) -> None:
        """*system* has ended and nobody will have a name any more: tell whoever waits for one."""
        self._ended = system
        while self._awaited:
            self._awaited.popitem()[1].set()

    def __len__(self) -> int:
        """How many names there are."""
        return len(self._cells)
