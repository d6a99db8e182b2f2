"""A first actor: state that only its own turns change, and messages to it."""

from __future__ import annotations

import attrs
import trio

from actors import Actor, ActorContext, handler, open_system


@attrs.frozen
class Add:
    amount: int


@attrs.frozen
class Total:
    n: int = 0


class Counter(Actor):
    state = Total()

    @handler
    async def add(self, message: Add, ctx: ActorContext) -> int:
        if message.amount < 0:
            raise ValueError("a counter doesn't count down")
        total = Total(ctx.state.n + message.amount)
        # Takes effect when the handler returns; one that raises has changed nothing.
        ctx.state = total
        return total.n  # noqa: ASYNC910 (there is nothing to wait for; that's fine in a handler)


async def main() -> None:
    async with open_system("bank") as system:
        counter = system.spawn(Counter, name="counter")
        await counter.tell(Add(2))  # is queued; nobody waits for it to be handled
        print(await counter.ask(Add(3), timeout=5))


if __name__ == "__main__":
    trio.run(main)
