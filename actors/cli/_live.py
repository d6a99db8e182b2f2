# rich redraws the region of the turns in progress from a thread of its own, ten times a second.
# So the seconds go on counting even while a handler blocks the event loop, which is then plain to
# see. The thread only reads: strings, and a list made of the dict of turns.
"""A run on a terminal: turns in progress at the bottom, finished ones above."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from actors.cli._plain import without_controls
from actors.cli._views import remark

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from actors.cli._result import RunResult
    from actors.cli._tally import Tally, Turn
    from protocols._events import WorkflowEvent

_MOST_LINES = 8


class LiveView:
    """Shows the executors' words as they come, for all that speak at once.

    Args:
        tally: the turns in progress are there.
        console: where to draw.
    """

    def __init__(self, tally: Tally, console: Console | None = None) -> None:
        self._tally = tally
        self._console = console or Console(highlight=False)
        self._live = Live(
            get_renderable=self._region,
            console=self._console,
            refresh_per_second=10,
            transient=True,
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._live.stop()

    def show(self, event: WorkflowEvent, turn: Turn | None) -> None:
        """See `View.show`."""
        is_over = event.type in {"executor_completed", "executor_failed"}
        if is_over:
            # Or what is printed would be followed by the region as it was.
            self._live.refresh()
        if is_over and turn is not None and turn.text:
            self._console.print(_titled(turn.executor_id, _text(turn.text)))
        if (said := remark(event, turn)) is not None:
            self._console.print(_text(said, "yellow"))

    def finish(self, result: RunResult) -> None:
        """See `View.finish`."""
        self._live.stop()
        for line in result.lines():
            self._console.print(_text(line, "red" if result.exit_code else "dim"))

    def _region(self) -> Group:
        return Group(*[self._block(turn) for turn in list(self._tally.turns.values())])

    def _block(self, turn: Turn) -> Group:
        seconds = time.monotonic() - turn.started
        lines = _text(turn.text).wrap(self._console, self._console.width)
        # The end is where something happens, and there may be several of us.
        tail = Text("\n").join(lines[-_MOST_LINES:])
        return _titled(turn.executor_id, tail, f"  {seconds:.0f} s")


def _titled(name: str, body: Text, note: str = "") -> Group:
    title = Text.assemble((without_controls(name), "bold cyan"), (note, "dim"))
    parts: list[Any] = [title, body] if body.plain else [title]
    return Group(*parts)


def _text(text: str, style: str = "") -> Text:
    """Make text of text: no markup in it, no control characters."""
    return Text(without_controls(text), style=style)
