"""Looking at a system at work: `System.inspect`."""

from __future__ import annotations

import attrs
import trio

from actors import Actor, ActorContext, handler, open_system


@attrs.frozen
class Parcel:
    weight: int


class Courier(Actor):
    @handler
    async def deliver(self, message: Parcel, ctx: ActorContext) -> None:  # noqa: ARG002 (handlers get it)
        await trio.sleep(message.weight / 10)


async def main() -> None:
    async with open_system("post") as system:
        courier = system.spawn(Courier, name="courier")
        system.spawn(Courier, name="substitute")
        for weight in (2, 3, 5):
            await courier.tell(Parcel(weight))
        await trio.sleep(0.1)
        facts = system.inspect()
        print(facts)
        for actor in facts:
            if actor.queued:
                print(f"{actor.name} is behind by {actor.queued} messages")


if __name__ == "__main__":
    trio.run(main)
