"""Tools that OpenAI's service runs itself, as the dicts that its APIs take; pure.

They go into ``tools`` beside functions. What they were called with and gave comes back among the
contents of the answer; nothing of it is run here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from actors.agents._tools._declaration import ApprovalMode
    from actors.agents._tools._function_tool import FunctionTool

_PLACE: Final = ("city", "country", "region", "timezone")


def without_none(**fields: Any) -> dict[str, Any]:
    """The fields that are given."""
    return {key: value for key, value in fields.items() if value is not None}


class HostedTools:
    """The tools of the Responses API, as static methods of its client."""

    @staticmethod
    def get_web_search_tool(
        *,
        user_location: Mapping[str, str] | None = None,
        search_context_size: Literal["low", "medium", "high"] | None = None,
        filters: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Let the service search the web.

        Args:
            user_location: ``city``, ``country``, ``region`` and ``timezone``, as far as known.
            search_context_size: how much of what is found the model reads.
            filters: of the search, in the API's form.
        """
        return without_none(
            type="web_search",
            user_location=None if user_location is None else {
                "type": "approximate",
                **{key: user_location[key] for key in _PLACE if user_location.get(key)},
            },
            search_context_size=search_context_size,
            filters=filters,
        )  # fmt: skip

    @staticmethod
    def get_code_interpreter_tool(
        *,
        file_ids: Sequence[str] | None = None,
        container: Literal["auto"] | Mapping[str, Any] = "auto",
    ) -> dict[str, Any]:
        """Let the service run Python.

        Args:
            file_ids: uploaded files that the code can read.
            container: where it runs, in the API's form.
        """
        where = {"type": "auto"} if isinstance(container, str) else dict(container)
        return {
            "type": "code_interpreter",
            "container": where | without_none(file_ids=list(file_ids) if file_ids else None),
        }

    @staticmethod
    def get_file_search_tool(
        *, vector_store_ids: Sequence[str], max_num_results: int | None = None
    ) -> dict[str, Any]:
        """Let the service search vector stores.

        Args:
            vector_store_ids: which.
            max_num_results: how many results at most.
        """
        return without_none(
            type="file_search",
            vector_store_ids=list(vector_store_ids),
            max_num_results=max_num_results,
        )

    @staticmethod
    def get_image_generation_tool(
        *,
        size: str | None = None,
        output_format: Literal["png", "jpeg", "webp"] | None = None,
        model: str | None = None,
        quality: Literal["low", "medium", "high", "auto"] | None = None,
        partial_images: int | None = None,
        background: Literal["transparent", "opaque", "auto"] | None = None,
        moderation: Literal["auto", "low"] | None = None,
        output_compression: int | None = None,
    ) -> dict[str, Any]:
        """Let the service make images; the arguments are the API's."""
        return without_none(
            type="image_generation",
            size=size,
            output_format=output_format,
            model=model,
            quality=quality,
            partial_images=partial_images,
            background=background,
            moderation=moderation,
            output_compression=output_compression,
        )

    @staticmethod
    def get_mcp_tool(
        *,
        name: str,
        url: str,
        description: str | None = None,
        approval_mode: ApprovalMode | Mapping[str, Sequence[str]] | None = None,
        allowed_tools: Sequence[str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Let the service use an MCP server.

        Args:
            name: how its calls are labelled.
            url: where it is.
            description: what it is for.
            approval_mode: for all of its tools, or lists of names under
                ``always_require_approval`` and ``never_require_approval``.
            allowed_tools: the only ones that may be used.
            headers: sent to it.
        """
        return without_none(
            type="mcp",
            server_label=name.replace(" ", "_"),
            server_url=url,
            server_description=description,
            headers=None if headers is None else dict(headers),
            allowed_tools=None if allowed_tools is None else list(allowed_tools),
            require_approval=_approval(approval_mode),
        )

    @staticmethod
    def get_shell_tool(
        *,
        func: Callable[..., Any] | FunctionTool[Any] | None = None,
        environment: Literal["auto"] | Mapping[str, Any] | None = "auto",
        name: str | None = None,
        description: str | None = None,
        approval_mode: ApprovalMode | None = None,
    ) -> Any:
        """Let the model run commands: in a container of the service's, or by a function here.

        Args:
            func: runs a command here. It is offered as a function, which any model can call.
            environment: of the service's container, in the API's form.
            name: of the function; by default its own.
            description: of the function; by default its docstring.
            approval_mode: of the function.

        Raises:
            ValueError: ``func`` and ``environment`` exclude each other, or nothing would run.
        """
        if func is None:
            if environment is None or isinstance(environment, str):
                environment = {"type": "container_auto"}
            where = dict(environment)
            if where.get("type") == "local":
                raise ValueError("a local shell needs func=, which runs the commands here")
            return {"type": "shell", "environment": where}
        if environment is not None and not isinstance(environment, str):
            raise ValueError("environment is of the service's container; with func there is none")
        from actors.agents._tools._decorator import tool
        from actors.agents._tools._function_tool import FunctionTool

        given = without_none(name=name, description=description, approval_mode=approval_mode)
        if not isinstance(func, FunctionTool):
            return tool(func, **given)
        if func.func is None:
            raise ValueError(f"the tool {func.name} is only declared, so nothing would run")
        return func.with_changes(**given) if given else func


def completion_web_search(web_search_options: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The web search of the Chat Completions API, which models of its own have."""
    return {"type": "web_search", **(web_search_options or {})}


def _approval(mode: ApprovalMode | Mapping[str, Sequence[str]] | None) -> Any:
    if mode is None or isinstance(mode, str):
        return None if mode is None else mode.removesuffix("_require")
    found = {
        kind: {"tool_names": list(mode[f"{kind}_require_approval"])}
        for kind in ("always", "never")
        if mode.get(f"{kind}_require_approval")
    }
    return found or None
