"""All rows, in the order of the table."""

from __future__ import annotations

from typing import Final

from bench import (
    agents,
    as_agent,
    ask,
    checkpoint,
    durable,
    fan,
    functional,
    imports,
    listeners,
    mailbox,
    memory,
    pipeline,
    spawn,
    stopping,
    streaming,
    superstep,
    telemetry,
)
from bench._registry import Row

ROWS: Final[tuple[Row, ...]] = tuple(
    row
    for question in (
        mailbox,
        ask,
        spawn,
        stopping,
        memory,
        superstep,
        fan,
        agents,
        as_agent,
        pipeline,
        telemetry,
        streaming,
        listeners,
        functional,
        checkpoint,
        durable,
        imports,
    )
    for row in question.ROWS
)
