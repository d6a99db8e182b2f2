"""What does it cost to be listened to, by how many?"""

from __future__ import annotations

import trio
import trio.testing

from actors import WorkflowBuilder
from bench._meter import Meter
from bench._registry import Beside, Row, ours
from bench.superstep import adding, chain as superstep_chain, yielding


async def chain(meter: Meter, length: int, listeners: int) -> None:
    """A chain in an open run; each listener hears every event, in a task of its own."""
    links = [*(adding(f"e{i}") for i in range(length - 1)), yielding("last")]
    workflow = WorkflowBuilder(start_executor=links[0], max_iterations=length + 5)
    heard = [0]

    async def listen(events: object) -> None:
        async for _ in events:  # type: ignore[attr-defined]  # a Listener, which isn't exported
            heard[0] += 1

    async with (
        trio.open_nursery() as nursery,
        workflow.add_chain(links).build().open_run() as run,
    ):
        for _ in range(listeners):
            nursery.start_soon(listen, run.events(buffer=100_000))
        for _ in meter.laps(max(3, 3000 // length), units=length):
            run.send(0)
            assert (await run.result()).get_outputs() == [length]
            await trio.testing.wait_all_tasks_blocked()
    assert bool(heard[0]) == bool(listeners)


NONE = ours("open run, nobody listens", chain, 100, 0)


def _row(listeners: int, at_most: float) -> Row:
    label = f"open run, {listeners} listener{'s' * (listeners > 1)}"
    figure = ours(label, chain, 100, listeners)
    return Row(f"listeners.{listeners}", "hop", figure, (Beside(NONE, at_most=at_most),))


ROWS = (
    Row("listeners.0", "hop", NONE, (Beside(ours("run", superstep_chain, 100), at_most=1.2),)),
    _row(1, 1.6),
    _row(10, 6.0),
)
