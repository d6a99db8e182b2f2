# A message that kills its process would kill the next one, too, and so on for ever. So attempts
# are counted, without a write of their own: that a message was delivered stands in the log, and
# after a crash every turn that may have been in progress has had one attempt more. That is the
# oldest open message of each executor, since an executor takes one at a time, in order.
#
# After one crash all of them are simply run again, together. Whoever was there at a second one
# is a suspect, and suspects are run one after another: each is let go by the commit of the one
# before, which is the write that counts its attempt. So the third crash hits only the one that
# causes it, and its neighbours don't become dead letters with it.
"""Which messages may have killed the process, and which of them are tried again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from actors.workflows._deliveries import Delivery

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Set as AbstractSet


# So often a message may have been there when the process died before it is tried by itself.
SUSPICIOUS = 2


@attrs.frozen
class Verdict:
    """What is done after a crash.

    Args:
        attempts: attempts that ended badly, by delivery, for those that are tried now.
        held: deliveries that wait until the suspects before them have ended well, by executor.
        given_up: deliveries that are not tried again, with the number of attempts they had.
        suspect: the one that goes first, if there are suspects.
    """

    attempts: dict[int, int] = attrs.field(factory=dict)
    held: tuple[tuple[Delivery, ...], ...] = ()
    given_up: dict[int, int] = attrs.field(factory=dict)
    suspect: int | None = None


def judge(
    deliveries: Iterable[Delivery],
    attempts: Mapping[int, int],
    held: AbstractSet[int],
    max_attempts: int,
) -> Verdict:
    """Say what to do with the open messages of a run whose process has died.

    Args:
        deliveries: the open ones, in order.
        attempts: attempts that ended badly before, by delivery.
        held: those that were not let go yet when the process died.
        max_attempts: so often a message may be tried.
    """
    by_target: dict[str, list[Delivery]] = {}
    for each in deliveries:
        by_target.setdefault(each.target, []).append(each)
    tried = dict(attempts)
    given_up: dict[int, int] = {}
    waiting: list[tuple[Delivery, ...]] = []
    for queue in by_target.values():
        first = queue[0].seq
        if first not in held:
            tried[first] = tried.get(first, 0) + 1
        if tried.get(first, 0) >= max_attempts:
            given_up[first] = tried.pop(first)
        elif tried.get(first, 0) >= SUSPICIOUS:
            waiting.append(tuple(queue))
    waiting.sort(key=lambda queue: queue[0].seq)
    suspect = waiting[0][0].seq if waiting else None
    return Verdict(tried, tuple(waiting[1:]), given_up, suspect)
