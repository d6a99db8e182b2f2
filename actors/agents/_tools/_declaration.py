"""What a model is told about a tool, and what it may give it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from actors.agents._tools._schema import checked_by_model, checked_by_schema, model_of_signature

if TYPE_CHECKING:
    from collections.abc import Callable

ApprovalMode = Literal["always_require", "never_require"]


class ToolDeclaration:
    """The part of a tool that a model gets to see; its attributes are ``FunctionTool``'s."""

    TYPE: ClassVar[str] = "function_tool"

    name: str
    description: str
    func: Callable[..., Any] | None
    approval_mode: ApprovalMode
    kind: str | None
    max_invocations: int | None
    max_invocation_exceptions: int | None
    additional_properties: dict[str, Any]
    result_parser: Any
    _given_model: Any  # what the user said
    _model: Any  # that, or what was made of the signature
    _schema: dict[str, Any] | None
    _names: Mapping[str, Any]

    @property
    def declaration_only(self) -> bool:
        """Whether there is nothing to run, so that its calls go to the caller."""
        return self.func is None

    @property
    def is_plain(self) -> bool:
        """Whether it says nothing that its function doesn't say."""
        return (
            self._given_model is None
            and self.approval_mode == "never_require"
            and self.max_invocations is None
            and self.max_invocation_exceptions is None
            and self.result_parser is None
        )

    @property
    def input_model(self) -> Any:
        """What it takes: a pydantic class, or a JSON schema."""
        if self._model is None:
            if self.func is None:
                self._model = {"type": "object", "properties": {}}
            else:
                self._model = model_of_signature(self.func, self.name, self._names)
        return self._model

    def parameters(self) -> dict[str, Any]:
        """Give the JSON schema of what it takes; the caller's own copy."""
        if self._schema is None:
            model = self.input_model
            is_schema = isinstance(model, Mapping)
            self._schema = dict(model) if is_schema else model.model_json_schema()
        return dict(self._schema)

    def to_json_schema_spec(self) -> dict[str, Any]:
        """Give its declaration as OpenAI's APIs have it."""
        function = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters(),
        }
        return {"type": "function", "function": function}

    def checked(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Give the arguments as the function is to have them.

        Raises:
            TypeError: they are not what it takes.
        """
        model = self.input_model
        if isinstance(model, Mapping):
            return checked_by_schema(model, arguments)
        return checked_by_model(model, arguments)

    def to_dict(self, **_: Any) -> dict[str, Any]:
        """Give the declaration as plain data; the function isn't part of it."""
        data = {
            "type": self.TYPE,
            "name": self.name,
            "description": self.description,
            "input_model": self.parameters(),
            "approval_mode": self.approval_mode,
            "kind": self.kind,
            "max_invocations": self.max_invocations,
            "max_invocation_exceptions": self.max_invocation_exceptions,
            "additional_properties": self.additional_properties or None,
        }
        return {key: value for key, value in data.items() if value is not None}
