"""What every storage of checkpoints has to do, as checks that anybody's storage can be put to.

.. code-block:: python

    @pytest.mark.parametrize("check", storage_checks(logs=False), ids=str)
    async def test_my_storage(check: StorageCheck, tmp_path: Path) -> None:
        await check(lambda: MyStorage(tmp_path))
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, TypeAlias

import attrs
import trio

from protocols._checkpoints import CheckpointStorage

#: Opens the storage, each time the same one: what was stored before is there.
OpenStorage: TypeAlias = Callable[[], AbstractAsyncContextManager[Any]]


@attrs.frozen
class StorageCheck:
    """One thing that a storage has to do.

    Args:
        name: says what, as a sentence.
        needs_logs: whether only storages that keep logs of runs can do it.
        function: tries it.
    """

    name: str
    needs_logs: bool
    function: Callable[[OpenStorage], Awaitable[None]] = attrs.field(repr=False)

    def __str__(self) -> str:
        return self.name

    async def __call__(self, open_storage: Callable[[], Any]) -> None:
        """Try it.

        Args:
            open_storage: returns the storage, or an async context manager that opens it; each
                time the same one, which is empty at first.

        Raises:
            AssertionError: the storage doesn't do it.
        """
        await self.function(lambda: _opened(open_storage()))


_CHECKS: Final[list[StorageCheck]] = []


def storage_check(
    *, logs: bool = False
) -> Callable[
    [Callable[[OpenStorage], Awaitable[None]]], Callable[[OpenStorage], Awaitable[None]]
]:
    """Add a function to the checks; its name is the sentence."""

    def add(
        function: Callable[[OpenStorage], Awaitable[None]],
    ) -> Callable[[OpenStorage], Awaitable[None]]:
        name = function.__name__.removeprefix("_").replace("_", " ")
        _CHECKS.append(StorageCheck(name, logs, function))
        return function

    return add


def storage_checks(*, logs: bool = True) -> tuple[StorageCheck, ...]:
    """Return the checks.

    Args:
        logs: also those for storages that keep logs of runs, beside those for the six methods
            of `CheckpointStorage`.
    """
    from actors.testing import _storage_kit_logs, _storage_kit_whole

    # Importing them has added their checks.
    del _storage_kit_logs, _storage_kit_whole
    return tuple(check for check in _CHECKS if logs or not check.needs_logs)


@attrs.frozen
class _AsItIs(AbstractAsyncContextManager["CheckpointStorage"]):
    """Enters a storage that needn't be opened."""

    storage: CheckpointStorage

    async def __aenter__(self) -> CheckpointStorage:
        await trio.lowlevel.checkpoint()
        return self.storage

    async def __aexit__(self, *_: object) -> None:  # noqa: ASYNC910  (as above)
        return None


def _opened(found: Any) -> AbstractAsyncContextManager[Any]:
    return found if hasattr(found, "__aenter__") else _AsItIs(found)
