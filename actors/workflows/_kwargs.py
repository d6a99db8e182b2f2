"""What the caller of ``run`` gives for tools and clients of agents, by executor.

It is handed to turns and nowhere else: such values hold secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import attrs

Kwargs: TypeAlias = Mapping[str, Any]


@attrs.frozen(repr=False)
class RunKwargs:
    """``function_invocation_kwargs`` and ``client_kwargs`` of one run.

    If any key is the id of an executor, the whole mapping goes by executor; otherwise it is
    for all of them.
    """

    executor_ids: frozenset[str] = frozenset()
    functions: Kwargs | None = None
    client: Kwargs | None = None

    def replaced(self, functions: Kwargs | None, client: Kwargs | None) -> RunKwargs:
        """Return these, with what is given anew in its place; {} leaves nothing."""
        return RunKwargs(
            self.executor_ids,
            self.functions if functions is None else functions,
            self.client if client is None else client,
        )

    def of(self, executor_id: str) -> tuple[Kwargs | None, Kwargs | None]:
        """Return what an executor gets of each, or None."""
        return self._for(self.functions, executor_id), self._for(self.client, executor_id)

    def _for(self, given: Kwargs | None, executor_id: str) -> Kwargs | None:
        if given is None or self.executor_ids.isdisjoint(given):
            return given
        own = given.get(executor_id)
        return own if isinstance(own, Mapping) else None
