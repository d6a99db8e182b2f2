"""Drawing what is going on in a system as a tree: a pure function of the facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from actors._core._introspection._inspect import ActorFacts, SystemFacts

# Of the lines that lead from the root to an actor, as much as leaves room for the actor.
_DEEPEST: Final = 42


def draw(facts: SystemFacts, width: int, most: int) -> Iterator[str]:
    """Give out the lines of the tree. Without recursion: it may be deeper than Python's stack."""
    root = facts.root
    yield cut("  ".join([f"{facts.name}: {root.state}", *_more(facts)]), width)
    rest = _branches(root, "", most)
    while rest:
        lead, is_last, item = rest.pop()
        yield cut(_indent(lead + ("└─ " if is_last else "├─ ")) + _title(item), width)
        if isinstance(item, str):
            continue
        lead += "   " if is_last else "│  "
        inner = _branches(item, lead, most)
        bar = _indent(lead + ("│  " if inner else "   "))
        for line in details(item):
            yield cut(bar + line, width)
        rest += inner


def _more(facts: SystemFacts) -> Iterator[str]:
    if facts.dead_letters:
        yield _count(facts.dead_letters, "dead letter")
    if facts.root.error is not None:
        yield facts.root.error


def _branches(
    parent: ActorFacts, lead: str, most: int
) -> list[tuple[str, bool, ActorFacts | str]]:
    """Return what is to be drawn below *parent*, the last first."""
    shown = _shown(parent.children, most)
    branches = [(lead, index == len(shown) - 1, item) for index, item in enumerate(shown)]
    branches.reverse()
    return branches


def _shown(children: Sequence[ActorFacts], most: int) -> Sequence[ActorFacts | str]:
    """Leave the idle ones out that are too many; what has work or children is always shown."""
    shown: list[ActorFacts | str] = []
    room = most
    for child in children:
        if child.is_idle and not child.children:
            room -= 1
            if room < 0:
                continue
        shown.append(child)
    if room < 0:
        shown.append(f"… and {-room} more, idle")
    return shown


def _title(item: ActorFacts | str) -> str:
    if isinstance(item, str):
        return item
    parts = [item.name.rpartition("/")[2], item.state]
    if item.asked_by:
        parts.append(f"asked by {item.asked_by}")
    if item.incarnation > 1:
        parts.append(f"incarnation {item.incarnation}")
    if item.incarnation > 1 or item.state in {"failed", "waiting to restart"}:
        parts.append(f"{_count(item.restarts, 'restart')} counted, {item.restarts_left} left")
    return "  ".join(parts)


def details(facts: ActorFacts) -> Iterator[str]:
    """Give out the lines below an actor's own: why it failed, what waits, what it does."""
    if facts.error is not None:
        yield f"after {facts.error}"
    if facts.queued or facts.blocked:
        senders = f", {_count(facts.blocked, 'sender')} blocked" if facts.blocked else ""
        yield f"mailbox {facts.queued} of {facts.capacity} (peak {facts.peak}){senders}"
    if facts.turn is not None:
        yield f"{facts.age or 0.0:.1f} s in {_what(facts)}"
    if facts.waits_at is not None:
        yield f"waits at {facts.waits_at}"


def _what(facts: ActorFacts) -> str:
    message, kind = facts.message, facts.message_type
    if message is None or kind is None:
        return facts.turn or ""
    return message if message.startswith(kind) else f"{kind}: {message}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _indent(lead: str) -> str:
    return lead if len(lead) <= _DEEPEST else "…" + lead[-_DEEPEST:]


def cut(line: str, width: int) -> str:
    """Return *line* with no more than *width* characters."""
    return line if len(line) <= width else line[: width - 1] + "…"
