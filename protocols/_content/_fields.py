"""The fields of a content item that only some kinds have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypedDict, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from protocols._content._item import Content
    from protocols._frozen import FrozenDict

ValueT = TypeVar("ValueT")


class TextSpanRegion(TypedDict, total=False):
    """The part of a text that an annotation is about, in characters, end exclusive."""

    type: str
    start_index: int
    end_index: int


class Annotation(TypedDict, total=False):
    """A citation: where a part of a text comes from."""

    type: str
    title: str
    url: str
    file_id: str
    tool_name: str
    snippet: str
    annotated_regions: list[TextSpanRegion]
    additional_properties: dict[str, Any]
    raw_representation: Any


class Rare(Generic[ValueT]):
    """A read-only property over the mapping in which a content item keeps its rarer fields.

    A slot each for some thirty fields would make every text item a kilobyte.
    """

    __slots__ = ("name",)

    name: str

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Rare[ValueT]: ...
    @overload
    def __get__(self, instance: ContentFields, owner: type) -> ValueT | None: ...
    def __get__(self, instance: ContentFields | None, owner: type) -> ValueT | Rare[ValueT] | None:
        if instance is None:
            return self
        found: ValueT | None = instance._rest.get(self.name)  # noqa: SLF001  # a part of that class
        return found


class ContentFields:
    """What a content item may carry beside its common fields; None where a kind has no such field."""

    # Here and not behind the fields, see `_quick_init`.
    __slots__ = ("__weakref__",)

    if TYPE_CHECKING:
        type: str
        _rest: FrozenDict[str, Any]

    annotations: Rare[Sequence[Annotation]] = Rare()
    protected_data: Rare[str] = Rare()
    uri: Rare[str] = Rare()
    media_type: Rare[str] = Rare()
    message: Rare[str] = Rare()
    error_code: Rare[str] = Rare()
    error_details: Rare[str] = Rare()
    usage_details: Rare[Mapping[str, Any]] = Rare()
    result: Rare[Any] = Rare()
    items: Rare[Sequence[Content]] = Rare()
    exception: Rare[str] = Rare()
    user_input_request: Rare[bool] = Rare()
    function_call: Rare[Content] = Rare()
    approved: Rare[bool] = Rare()
    consent_link: Rare[str] = Rare()
    file_id: Rare[str] = Rare()
    vector_store_id: Rare[str] = Rare()
    tool_name: Rare[str] = Rare()
    server_name: Rare[str] = Rare()
    output: Rare[Any] = Rare()
    inputs: Rare[Sequence[Content]] = Rare()
    outputs: Rare[Any] = Rare()
    image_id: Rare[str] = Rare()
    status: Rare[str] = Rare()
    commands: Rare[Sequence[str]] = Rare()
    timeout_ms: Rare[int] = Rare()
    max_output_length: Rare[int] = Rare()
    stdout: Rare[str] = Rare()
    stderr: Rare[str] = Rare()
    exit_code: Rare[int] = Rare()
    timed_out: Rare[bool] = Rare()

    @property
    def informational_only(self) -> bool:
        """Whether this call is part of the transcript only: never to be executed or approved."""
        # The service that made an MCP call has executed it already.
        return self.type == "mcp_server_tool_call" or bool(self._rest.get("informational_only"))


RARE_FIELDS: Final[tuple[str, ...]] = (
    *(name for name, value in vars(ContentFields).items() if isinstance(value, Rare)),
    "informational_only",
)
