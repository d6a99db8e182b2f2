"""Joining the parts of one content item, as a stream delivers them.

Two questions are kept apart: *may* this part follow those (``refusal``), and *what* do all of
them make (``merge``). So a thousand parts are joined once, at the end, instead of a thousand
times over an ever longer text; and ``a + b`` is the case of two.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from attrs import define, evolve, field

from protocols._content._item import Content
from protocols._errors import AdditionItemMismatch, ContentError
from protocols._frozen import EMPTY_DICT, FrozenDict
from protocols._usage import UsageDetails, add_usage_details

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

#: In ``additional_properties`` of a reasoning item: it is the reasoning itself, no summary of it.
REASONING_TEXT_MARKER: Final = "reasoning_text"

_CODE_FIELDS: Final = {
    "code_interpreter_tool_call": "inputs",
    "code_interpreter_tool_result": "outputs",
}


def add(left: Content, right: Content) -> Content:
    """Join two parts; see ``Content.__add__``."""
    if left.type != right.type:
        raise TypeError(f"a {left.type} and a {right.type} can't be joined")
    if left.type not in _MERGES:
        raise ContentError(f"items of kind {left.type} can't be joined")
    parts = Parts()
    for part in (left, right):
        refused = parts.refusal(part)
        if refused is not None:
            raise refused
        parts.append(part)
    return parts.merged()


@define(eq=False)
class Parts:
    """The parts of one item that have come so far, and what decides whether another may follow."""

    contents: list[Content] = field(factory=list)
    arguments_kind: Literal["", "text", "mapping"] = ""
    first_id: str | None = None
    has_text: bool = False
    is_marked: bool = False

    def refusal(self, part: Content) -> Exception | None:
        """Return the error that joining this part would be, or None if it may follow."""
        if not self.contents:
            return None
        if part.type == "function_call":
            return self._call_refusal(part)
        return self._reasoning_refusal(part) if part.type == "text_reasoning" else None

    def _call_refusal(self, part: Content) -> Exception | None:
        call_id = self.contents[0].call_id
        if part.call_id and part.call_id != call_id:
            return ContentError(f"these are parts of two calls: {call_id!r} and {part.call_id!r}")
        kind = _arguments_kind(part)
        if kind and self.arguments_kind and kind != self.arguments_kind:
            return TypeError(f"arguments of call {call_id!r} come as text and as a mapping")
        return None

    def _reasoning_refusal(self, part: Content) -> Exception | None:
        if part.id and self.first_id and part.id != self.first_id:
            return AdditionItemMismatch(
                f"these are two pieces of reasoning: {self.first_id!r} and {part.id!r}"
            )
        if part.text and self.has_text and _is_marked(part) != self.is_marked:
            return AdditionItemMismatch("one is reasoning, the other a summary of reasoning")
        return None

    def append(self, part: Content) -> None:
        """Take a part that ``refusal`` has nothing against."""
        self.contents.append(part)
        self.arguments_kind = self.arguments_kind or _arguments_kind(part)
        self.first_id = self.first_id or part.id
        self.has_text = self.has_text or bool(part.text)
        self.is_marked = self.is_marked or _is_marked(part)

    def merged(self) -> Content:
        """Make one item of all parts."""
        return merge(self.contents)


def merge(parts: Sequence[Content]) -> Content:
    """Make one item of parts of one kind that may follow each other."""
    first = parts[0]
    if len(parts) == 1:
        return first
    return evolve(
        first,
        additional_properties=_first_of_each_key(parts),
        raw_representation=_raw_representations(parts),
        **_MERGES[first.type](parts),
    )


def _is_marked(part: Content) -> bool:
    return bool(part.additional_properties.get(REASONING_TEXT_MARKER))


def _arguments_kind(part: Content) -> Literal["", "text", "mapping"]:
    if not part.arguments:
        return ""
    return "text" if isinstance(part.arguments, str) else "mapping"


def _first(parts: Sequence[Content], name: str) -> Any:
    """Return the first value of a field that is not empty."""
    return next((value for part in parts if (value := getattr(part, name))), None)


def _joined_text(parts: Sequence[Content]) -> str | None:
    texts = [part.text for part in parts if part.text is not None]
    return "".join(texts) if texts else None


def _annotations(parts: Sequence[Content]) -> Any:
    # Few parts have any of the rarer fields at all.
    found = [one for part in parts if part._rest for one in part.annotations or ()]  # noqa: SLF001
    return found or None


def _first_of_each_key(parts: Sequence[Content]) -> FrozenDict[str, Any]:
    found: dict[str, Any] = {}
    for part in reversed(parts):
        if part.additional_properties:
            found.update(part.additional_properties)
    return FrozenDict(found) if found else EMPTY_DICT


def _raw_representations(parts: Sequence[Content]) -> list[Any] | None:
    found: list[Any] = []
    for part in parts:
        raw = part.raw_representation
        if raw is None:
            continue
        # A part that was joined before carries a list of its own.
        found.extend(raw if isinstance(raw, list) else (raw,))
    return found or None


def _text(parts: Sequence[Content]) -> dict[str, Any]:
    return {"text": _joined_text(parts), "annotations": _annotations(parts)}


def _reasoning(parts: Sequence[Content]) -> dict[str, Any]:
    protected = [part.protected_data for part in parts if part.protected_data is not None]
    return {
        "id": _first(parts, "id"),
        "text": _joined_text(parts),
        "protected_data": protected[-1] if protected else None,
        "annotations": _annotations(parts),
    }


def _call(parts: Sequence[Content]) -> dict[str, Any]:
    return {
        "arguments": _arguments(parts),
        "name": _first(parts, "name") or parts[0].name,
        "id": _first(parts, "id"),
        "exception": _first(parts, "exception"),
        "informational_only": any(part.informational_only for part in parts),
        "user_input_request": _first(parts, "user_input_request"),
        "annotations": _annotations(parts),
    }


def _arguments(parts: Sequence[Content]) -> str | Mapping[str, Any] | None:
    given = [part.arguments for part in parts if part.arguments]
    if not given:
        return next((part.arguments for part in parts if part.arguments is not None), None)
    if isinstance(given[0], str):
        return "".join([str(one) for one in given])
    merged: dict[str, Any] = {}
    for one in given:
        merged.update(one)  # type: ignore[arg-type]  # `refusal` saw that all are mappings
    return merged


def _usage(parts: Sequence[Content]) -> dict[str, Any]:
    total: UsageDetails | None = None
    for part in parts:
        total = add_usage_details(total, part.usage_details)
    return {"usage_details": total}


_MERGES: Final[dict[str, Callable[[Sequence[Content]], dict[str, Any]]]] = {
    "text": _text,
    "text_reasoning": _reasoning,
    "function_call": _call,
    "usage": _usage,
}


# ------------------------------------------------------------------- code interpreter


def is_code(content: Content) -> bool:
    """Say whether this is code that a service ran, or its outcome, of a known call."""
    return content.type in _CODE_FIELDS and bool(content.call_id)


def merge_code(parts: Sequence[Content]) -> Content:
    """Make one item of the parts of one code interpreter call, or of its result.

    Services send code in pieces and then, or instead, all that there is so far: a part that
    starts with what came before replaces it.
    """
    if len(parts) == 1:
        return parts[0]
    name = _CODE_FIELDS[parts[0].type]
    runs: list[_Run] = []
    for part in parts:
        _take(runs, getattr(part, name) or ())
    joined: dict[str, Any] = {name: [merge(run.items) for run in runs] or None}
    return evolve(
        parts[0],
        additional_properties=_first_of_each_key(parts),
        raw_representation=_raw_representations(parts),
        **joined,
    )


@define(eq=False)
class _Run:
    """Adjacent texts, which will be one item, or a single item of another kind."""

    items: list[Content]
    length: int

    @classmethod
    def of(cls, item: Content) -> _Run:
        return cls([item], len(item.text or ""))

    @property
    def is_text(self) -> bool:
        return self.items[0].type == "text"

    def begins(self, item: Content) -> bool:
        """Say whether the item starts with this, or is the same."""
        if not self.is_text:
            return item == self.items[0]
        # The length first: joining is worth its price only for an item that is longer still.
        return len(item.text or "") >= self.length and (item.text or "").startswith(
            "".join([one.text or "" for one in self.items])
        )


def _take(runs: list[_Run], items: Sequence[Content]) -> None:
    if len(items) >= len(runs) and all(map(_Run.begins, runs, items)):
        runs.clear()
    for item in items:
        last = runs[-1] if runs and runs[-1].is_text and item.type == "text" else None
        if last is None:
            runs.append(_Run.of(item))
        elif last.begins(item):
            runs[-1] = _Run.of(item)
        else:
            last.items.append(item)
            last.length += len(item.text or "")
