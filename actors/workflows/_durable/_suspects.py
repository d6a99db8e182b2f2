# A message that kills its process would kill the next one, too, and so on for ever. So attempts
# are counted, without a write of their own: that a message was delivered stands in the log, and
# after a crash every turn that may have been in progress has had one attempt more. That is the
# oldest open message of each executor, since an executor takes one at a time, in order. What is
# being handled by a workflow inside isn't one of them: the messages in there are.
#
# After one crash all of them are simply run again, together. Whoever was there at a second one
# is a suspect, and suspects are run one after another: each is let go by the commit of the one
# before, which is the write that counts its attempt. So the third crash hits only the one that
# causes it, and its neighbours don't become dead letters with it.
"""Which messages may have killed the process, and which of them are tried again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet


# So often a message may have been there when the process died before it is tried by itself.
SUSPICIOUS = 2


@attrs.frozen
class Verdict:
    """What is done after a crash. Messages are known by the keys of their entries.

    Args:
        attempts: attempts that ended badly, for those that are tried now.
        held: messages that wait until the suspects before them have ended well, by executor.
        given_up: messages that are not tried again, with the number of attempts they had.
        suspect: the one that goes first, if there are suspects.
    """

    attempts: dict[str, int] = attrs.field(factory=dict)
    held: tuple[tuple[str, ...], ...] = ()
    given_up: dict[str, int] = attrs.field(factory=dict)
    suspect: str | None = None


def judge(
    queues: Iterable[Sequence[str]],
    attempts: Mapping[str, int],
    held: AbstractSet[str],
    max_attempts: int,
) -> Verdict:
    """Say what to do with the open messages of a run whose process has died.

    Args:
        queues: the open messages of each executor, oldest first.
        attempts: attempts that ended badly before.
        held: those that were not let go yet when the process died.
        max_attempts: so often a message may be tried.
    """
    tried = dict(attempts)
    given_up: dict[str, int] = {}
    waiting: list[tuple[str, ...]] = []
    for queue in queues:
        first = queue[0]
        if first not in held:
            tried[first] = tried.get(first, 0) + 1
        if tried.get(first, 0) >= max_attempts:
            given_up[first] = tried.pop(first)
        elif tried.get(first, 0) >= SUSPICIOUS:
            waiting.append(tuple(queue))
    suspect = waiting[0][0] if waiting else None
    return Verdict(tried, tuple(waiting[1:]), given_up, suspect)
