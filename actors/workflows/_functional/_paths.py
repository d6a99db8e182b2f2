# What identifies a step?
#
# Not the order in which steps happen to start: on a replay a recorded step no longer waits, so
# the branches of a program reach their steps in another order than the first time, and two
# branches would get one another's results. What stays the same is the structure: which call in
# the program it was, counted by itself in each line of execution. So each line (the body of a
# workflow, the inside of a step, a branch of `gather`, a task of a user's own nursery) has a path
# and counters of its own:
#
#   /fetch#0              the first call of fetch in the body
#   /fetch#1              the second, perhaps in a loop
#   /&gather#2/fetch#0    in the third task that gather has begun here
#   /&branch#1/fetch#0    in the second task that was spawned of the function `branch`
#   /report#0/fetch#0     inside of the step, or child workflow, report
#   /=k7                  a step with the explicit key k7: its place doesn't matter
#   /?#0                  the first question; /?=id#0 the first one with that id
#   /fetch#0^8a1c…        fetch#0 once more, asked for something else than the time before
#
# What comes from users is quoted, so that no name can pretend to be another place.
"""The paths of steps and questions in the structure of a workflow's function."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import quote


@lru_cache(maxsize=4096)
def quoted(name: str) -> str:
    """Return *name* without the characters that take paths apart."""
    return quote(name, safe=" ,:()[]")


@lru_cache(maxsize=4096)
def spawned(task: str) -> str:
    """Return the part of a path that stands for a task, without its number.

    A function that moves to another module, or into another function, is still the same.
    """
    return "&" + quoted(task.rpartition(".")[2])


def beside(path: str, digest: bytes | None) -> str:
    """Return the path for what stands at *path* and is asked for something else than before."""
    return f"{path}^{'' if digest is None else digest.hex()}"
