"""One factory per kind of content item; those of what services do are in the base class."""

from __future__ import annotations

import json
import logging
from base64 import b64encode
from typing import TYPE_CHECKING, Any, Final, Unpack

from protocols._content._service_kinds import CommonFields, ServiceKinds
from protocols._content._uris import checked_scheme

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from protocols._content._item import Content

_LOG: Final = logging.getLogger(__name__)


class ContentKinds(ServiceKinds):
    """The factories; each says what its kind means, the fields are described with the class."""

    __slots__ = ()

    @classmethod
    def from_text(cls, text: str, **common: Unpack[CommonFields]) -> Self:
        """Make a text."""
        return cls("text", text=text, **common)

    @classmethod
    def from_text_reasoning(
        cls,
        *,
        id: str | None = None,  # noqa: A002  # the name of the field
        text: str | None = None,
        protected_data: str | None = None,
        **common: Unpack[CommonFields],
    ) -> Self:
        """Make a piece of a model's reasoning; ``protected_data`` is the provider's, opaque."""
        return cls("text_reasoning", id=id, text=text, protected_data=protected_data, **common)

    @classmethod
    def from_data(cls, data: bytes, media_type: str, **common: Unpack[CommonFields]) -> Self:
        """Make binary data, kept as a ``data:`` URI.

        Raises:
            TypeError: ``data`` is not bytes.
        """
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(
                f"from_data takes bytes, not {type(data).__name__}; "
                "use from_uri for data that is a URI already"
            )
        uri = f"data:{media_type};base64,{b64encode(data).decode()}"
        return cls("data", uri=uri, media_type=media_type, **common)

    @classmethod
    def from_uri(
        cls, uri: str, *, media_type: str | None = None, **common: Unpack[CommonFields]
    ) -> Self:
        """Make a ``data`` item of a data URI, and a ``uri`` item of every other URI.

        Raises:
            ContentError: that is no URI, or a data URI that isn't base64.
        """
        scheme = checked_scheme(uri)
        if media_type is None and scheme == "data":
            media_type = uri[5:].partition(",")[0].partition(";")[0] or None
        if media_type is None:
            _LOG.warning("no media type for %.80s; many models need one: pass media_type=", uri)
        kind = "data" if scheme == "data" else "uri"
        return cls(kind, uri=uri, media_type=media_type, **common)

    @classmethod
    def from_error(
        cls,
        *,
        message: str | None = None,
        error_code: str | None = None,
        error_details: str | None = None,
        **common: Unpack[CommonFields],
    ) -> Self:
        """Make an error that is part of an answer."""
        return cls(
            "error",
            message=message,
            error_code=error_code,
            error_details=error_details,
            **common,
        )

    @classmethod
    def from_usage(cls, usage_details: Mapping[str, Any], **common: Unpack[CommonFields]) -> Self:
        """Make a report of tokens used; aggregation moves it into the response."""
        return cls("usage", usage_details=usage_details, **common)

    @classmethod
    def from_function_call(
        cls,
        call_id: str,
        name: str,
        *,
        arguments: str | Mapping[str, Any] | None = None,
        exception: str | None = None,
        informational_only: bool = False,
        id: str | None = None,  # noqa: A002  # the name of the field
        user_input_request: bool | None = None,
        **common: Unpack[CommonFields],
    ) -> Self:
        """Make a call of a function by the model, whole or a part of it in a stream."""
        return cls(
            "function_call",
            call_id=call_id,
            name=name,
            arguments=arguments,
            exception=exception,
            informational_only=informational_only,
            id=id,
            user_input_request=user_input_request,
            **common,
        )

    @classmethod
    def from_function_result(
        cls,
        call_id: str,
        *,
        result: Any = None,
        items: Sequence[Content] | None = None,
        exception: str | BaseException | None = None,
        **common: Unpack[CommonFields],
    ) -> Self:
        """Make the result of a function call.

        Args:
            call_id: the call it answers.
            result: a str, a list of Content, or anything that JSON can say.
            items: the result as content items; given instead of ``result``.
            exception: what went wrong, if the function failed.
            **common: the keywords of every kind.
        """
        if items is None:
            items = _result_items(cls, result)
        texts = [item.text for item in items if item.type == "text" and item.text]
        return cls(
            "function_result",
            call_id=call_id,
            result="\n".join(texts),
            items=items,
            exception=None if exception is None else str(exception),
            **common,
        )

    @classmethod
    def from_function_approval_request(
        cls,
        id: str,  # noqa: A002  # the name of the field
        function_call: Content,
        **common: Unpack[CommonFields],
    ) -> Self:
        """Make a question to a person: may this call be made?"""
        return cls(
            "function_approval_request",
            id=id,
            function_call=function_call,
            user_input_request=True,
            **common,
        )

    @classmethod
    def from_function_approval_response(
        cls,
        approved: bool,  # positional in the API we are compatible with
        id: str,  # noqa: A002  # the name of the field
        function_call: Content,
        **common: Unpack[CommonFields],
    ) -> Self:
        """Make a person's answer to an approval request."""
        return cls(
            "function_approval_response",
            approved=approved,
            id=id,
            function_call=function_call,
            **common,
        )

    @classmethod
    def from_oauth_consent_request(cls, consent_link: str, **common: Unpack[CommonFields]) -> Self:
        """Make a request to a person to open a link and consent there."""
        return cls(
            "oauth_consent_request", consent_link=consent_link, user_input_request=True, **common
        )


def _result_items(cls: Any, result: Any) -> list[Any]:
    if isinstance(result, list | tuple) and result:
        if all(isinstance(item, ContentKinds) for item in result):
            return list(result)
    elif isinstance(result, ContentKinds):
        return [result]
    return [cls.from_text(_result_text(result))]


def _result_text(result: Any) -> str:
    if result is None:
        return ""
    if isinstance(result, str):
        return result
    try:
        return json.dumps(result, default=str, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return str(result)
