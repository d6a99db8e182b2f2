"""The fields of a content item that only some kinds have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, TypedDict, TypeVar, cast, overload

if TYPE_CHECKING:
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
    annotated_regions: Sequence[TextSpanRegion]
    additional_properties: Mapping[str, Any]
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
        return cast("ValueT | None", instance._rest.get(self.name))  # noqa: SLF001  # a part of that class


class ContentFields:
    """What a content item may carry beside its common fields; None where a kind has no such field."""

    __slots__ = ()

    if TYPE_CHECKING:
        type: str
        _rest: FrozenDict[str, Any]

    annotations = Rare[Sequence[Annotation]]()
    protected_data = Rare[str]()
    uri = Rare[str]()
    media_type = Rare[str]()
    message = Rare[str]()
    error_code = Rare[str]()
    error_details = Rare[str]()
    usage_details = Rare["Mapping[str, Any]"]()
    result = Rare[Any]()
    items = Rare["Sequence[Content]"]()
    exception = Rare[str]()
    user_input_request = Rare[bool]()
    function_call = Rare["Content"]()
    approved = Rare[bool]()
    consent_link = Rare[str]()
    file_id = Rare[str]()
    vector_store_id = Rare[str]()
    tool_name = Rare[str]()
    server_name = Rare[str]()
    output = Rare[Any]()
    inputs = Rare["Sequence[Content]"]()
    outputs = Rare[Any]()
    image_id = Rare[str]()
    status = Rare[str]()
    commands = Rare[Sequence[str]]()
    timeout_ms = Rare[int]()
    max_output_length = Rare[int]()
    stdout = Rare[str]()
    stderr = Rare[str]()
    exit_code = Rare[int]()
    timed_out = Rare[bool]()

    @property
    def informational_only(self) -> bool:
        """Whether this call is part of the transcript only: never to be executed or approved."""
        # The service that made an MCP call has executed it already.
        return self.type == "mcp_server_tool_call" or bool(self._rest.get("informational_only"))


RARE_FIELDS: Final[tuple[str, ...]] = (
    *(name for name, value in vars(ContentFields).items() if isinstance(value, Rare)),
    "informational_only",
)
