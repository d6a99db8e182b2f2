"""The factories of what a service holds, and of what it has done by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from protocols._content._fields import Annotation, ContentFields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from protocols._content._item import Content


class CommonFields(TypedDict, total=False):
    """The keywords that every factory takes."""

    annotations: Sequence[Annotation] | None
    additional_properties: Mapping[str, Any] | None
    raw_representation: Any


class ServiceKinds(ContentFields):
    """The factories for files, searches, code, shells and servers of the service."""

    __slots__ = ()

    if TYPE_CHECKING:

        def __init__(self, type: str, **fields: Any) -> None: ...  # noqa: A002  # the name of the field

    @classmethod
    def from_hosted_file(
        cls,
        file_id: str,
        *,
        media_type: str | None = None,
        name: str | None = None,
        **common: Unpack[CommonFields],
    ) -> Self:
        """Name a file that the service holds."""
        return cls("hosted_file", file_id=file_id, media_type=media_type, name=name, **common)

    @classmethod
    def from_hosted_vector_store(
        cls, vector_store_id: str, **common: Unpack[CommonFields]
    ) -> Self:
        """Name a vector store that the service holds."""
        return cls("hosted_vector_store", vector_store_id=vector_store_id, **common)

    @classmethod
    def from_mcp_server_tool_call(
        cls,
        call_id: str,
        tool_name: str,
        *,
        server_name: str | None = None,
        arguments: str | Mapping[str, Any] | None = None,
        **common: Unpack[CommonFields],
    ) -> Self:
        """Report a call that the service made to an MCP server."""
        return cls(
            "mcp_server_tool_call",
            call_id=call_id,
            tool_name=tool_name,
            server_name=server_name,
            arguments=arguments,
            **common,
        )

    @classmethod
    def from_mcp_server_tool_result(
        cls, call_id: str, *, output: Any = None, **common: Unpack[CommonFields]
    ) -> Self:
        """Report what an MCP server answered to the service."""
        return cls("mcp_server_tool_result", call_id=call_id, output=output, **common)

    @classmethod
    def from_code_interpreter_tool_call(
        cls,
        *,
        call_id: str | None = None,
        inputs: Sequence[Content] | None = None,
        **common: Unpack[CommonFields],
    ) -> Self:
        """Report code that the service ran."""
        return cls("code_interpreter_tool_call", call_id=call_id, inputs=inputs, **common)

    @classmethod
    def from_code_interpreter_tool_result(
        cls,
        *,
        call_id: str | None = None,
        outputs: Sequence[Content] | None = None,
        **common: Unpack[CommonFields],
    ) -> Self:
        """Report what came of code that the service ran."""
        return cls("code_interpreter_tool_result", call_id=call_id, outputs=outputs, **common)

    @classmethod
    def from_image_generation_tool_call(
        cls, *, image_id: str | None = None, **common: Unpack[CommonFields]
    ) -> Self:
        """Report that the service makes an image."""
        return cls("image_generation_tool_call", image_id=image_id, **common)

    @classmethod
    def from_image_generation_tool_result(
        cls,
        *,
        image_id: str | None = None,
        outputs: Any = None,
        **common: Unpack[CommonFields],
    ) -> Self:
        """Report the image that the service made."""
        return cls("image_generation_tool_result", image_id=image_id, outputs=outputs, **common)

    @classmethod
    def from_search_tool_call(
        cls,
        call_id: str,
        *,
        tool_name: str | None = None,
        arguments: str | Mapping[str, Any] | None = None,
        status: str | None = None,
        **common: Unpack[CommonFields],
    ) -> Self:
        """Report a search that the service made."""
        return cls(
            "search_tool_call",
            call_id=call_id,
            tool_name=tool_name,
            arguments=arguments,
            status=status,
            **common,
        )

    @classmethod
    def from_search_tool_result(
        cls,
        call_id: str,
        *,
        tool_name: str | None = None,
        result: Any = None,
        items: Sequence[Content] | None = None,
        status: str | None = None,
        **common: Unpack[CommonFields],
    ) -> Self:
        """Report what a search of the service found."""
        return cls(
            "search_tool_result",
            call_id=call_id,
            tool_name=tool_name,
            result=result,
            items=items,
            status=status,
            **common,
        )

    @classmethod
    def from_shell_tool_call(
        cls,
        *,
        call_id: str | None = None,
        commands: Sequence[str] | None = None,
        timeout_ms: int | None = None,
        max_output_length: int | None = None,
        status: str | None = None,
        **common: Unpack[CommonFields],
    ) -> Self:
        """Make a call of a shell; the time limit is in milliseconds, the length in characters."""
        return cls(
            "shell_tool_call",
            call_id=call_id,
            commands=commands,
            timeout_ms=timeout_ms,
            max_output_length=max_output_length,
            status=status,
            **common,
        )

    @classmethod
    def from_shell_tool_result(
        cls,
        *,
        call_id: str | None = None,
        outputs: Sequence[Content] | None = None,
        max_output_length: int | None = None,
        **common: Unpack[CommonFields],
    ) -> Self:
        """Make the result of a shell call: one ``shell_command_output`` per command."""
        return cls(
            "shell_tool_result",
            call_id=call_id,
            outputs=outputs,
            max_output_length=max_output_length,
            **common,
        )

    @classmethod
    def from_shell_command_output(
        cls,
        *,
        stdout: str | None = None,
        stderr: str | None = None,
        exit_code: int | None = None,
        timed_out: bool | None = None,
        **common: Unpack[CommonFields],
    ) -> Self:
        """Make the output of one command of a shell."""
        return cls(
            "shell_command_output",
            stdout=stdout,
            stderr=stderr,
            exit_code=exit_code,
            timed_out=timed_out,
            **common,
        )
