"""From what an OpenAI-compatible endpoint did wrong to the error that says so; no I/O."""

from __future__ import annotations

import email.utils
import json
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final

from protocols._model_errors import (
    ModelAuthError,
    ModelConnectionError,
    ModelContentFilterError,
    ModelError,
    ModelRateLimitError,
    ModelRequestError,
    ModelResponseError,
    ModelServerError,
    ModelTimeoutError,
)

PREVIEW_CHARS: Final = 300
_MESSAGE_CHARS: Final = 600
_ERROR_STATUSES: Final = range(400, 600)
_FOREVER: Final = 1e9  # seconds

# Beside the 5xx and 429: "request timeout", "conflict" (a lock) and "too early" pass by themselves.
_PASSING: Final = frozenset({408, 409, 425})
_FILTER_CODES: Final = frozenset(
    {
        "content_filter",
        "content_policy_violation",
        "responsible_ai_policy_violation",
    }
)
# What some endpoints put where others put a status.
_STATUS_OF_CODE: Final = {
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "rate_limited": 429,
    "too_many_requests": 429,
    "insufficient_quota": 429,
    "invalid_api_key": 401,
    "authentication_error": 401,
    "permission_denied": 403,
    "permission_error": 403,
    "model_not_found": 404,
    "not_found_error": 404,
    "context_length_exceeded": 400,
    "invalid_request_error": 400,
    "overloaded_error": 503,
    "overloaded": 503,
    "unavailable_error": 503,
    "server_error": 500,
    "internal_error": 500,
    "api_error": 500,
}
_TIMEOUTS: Final = frozenset({"TimeoutException", "APITimeoutError", "TimeoutError"})
_TRANSPORT: Final = _TIMEOUTS | {"APIConnectionError", "HTTPError", "StreamError", "OSError"}
# Waiting doesn't refill an account.
_PERMANENT: Final = frozenset({"insufficient_quota"})


def preview(body: bytes | str, limit: int = PREVIEW_CHARS) -> str:
    """The first characters of a body on one line, for an error message."""
    # Four bytes a character is the most that UTF-8 takes, so nothing that shows is lost.
    text = body[: limit * 4].decode("utf-8", errors="replace") if isinstance(body, bytes) else body
    line = " ".join(text[: limit * 4].split())
    return line if len(line) <= limit else line[:limit] + "…"


def error_from_status(
    status: int, body: bytes, headers: Mapping[str, str], *, endpoint: str, now: float
) -> ModelError:
    """The error for an answer that isn't a 2xx.

    Args:
        status: the HTTP status.
        body: what came with it, whole or its beginning.
        headers: the answer's headers, their names in lower case.
        endpoint: what to call the endpoint in the message.
        now: the present as a Unix time, for a ``Retry-After`` that is a date.
    """
    detail = _detail(_json_or_none(body))
    if detail is None:
        detail = {"message": preview(body) or _phrase(status)}
    return _build(detail, status, endpoint, retry_after=retry_after(headers, now))


def error_from_body(
    body: object,
    *,
    endpoint: str,
    raw: bytes | str = b"",
    headers: Mapping[str, str] | None = None,
) -> ModelError | None:
    """The error that an answer with HTTP 200 carries inside, or None if it carries none.

    Its status is the one that the body names, so that a retry policy sees the 429 that a
    gateway wrapped in a 200.
    """
    detail = _detail(body)
    if detail is None:
        return None
    if not detail.get("message"):
        detail = {**detail, "message": preview(raw) or preview(json.dumps(body, default=str))}
    wait = retry_after(headers or {}, now=0.0)
    return _build(detail, _inner_status(detail), endpoint, retry_after=wait)


def unreadable(
    what: str, raw: bytes | str, *, endpoint: str, retryable: bool = False
) -> ModelError:
    """The error for an answer that is no answer: an HTML page, nothing at all, broken JSON."""
    shown = preview(raw)
    tail = f": {shown}" if shown else ""
    return ModelResponseError(
        f"{endpoint} answered with {what}, which is no chat completion{tail}; "
        "check that the base URL is an OpenAI-compatible API (it usually ends in /v1)",
        retryable=retryable,
    )


def cut_off(received: str, *, endpoint: str, cause: ModelError | None = None) -> ModelError:
    """The error for a stream that ended before the model was done.

    Args:
        received: what had come until then, in words.
        endpoint: what to call the endpoint in the message.
        cause: the transport's error if it broke; None if the stream ended in good order.
    """
    kind: type[ModelError]
    if isinstance(cause, ModelTimeoutError):
        kind, how = ModelTimeoutError, "stopped sending"
    elif cause is not None:
        kind, how = ModelConnectionError, "broke off the stream"
    else:
        kind, how = ModelResponseError, "ended the stream"
    return kind(
        f"{endpoint} {how} without a finish reason, after {received}; "
        "the answer is incomplete, ask again",
        retryable=True,
        inner_exception=cause,
    )


def is_transport_error(error: BaseException) -> bool:
    """Whether an error comes from the network below, and not from a mistake of ours."""
    return bool(_ancestry(error) & _TRANSPORT)


def error_from_transport(cause: BaseException, *, endpoint: str) -> ModelError:
    """The error for a request that the network or a time limit ended.

    The class is told by name, along the ancestry, because the transport underneath may be
    httpx2 or the older httpx, and neither has to be imported to tell.
    """
    names = _ancestry(cause)
    what = preview(str(cause.__cause__ or cause)) or type(cause).__name__
    if names & _TIMEOUTS:
        return ModelTimeoutError(
            f"{endpoint} didn't answer in time ({what}); raise the client's timeout, "
            "or look whether the endpoint is stuck",
            retryable=True,
            inner_exception=cause,
        )
    if "DecodingError" in names:
        error = unreadable("bytes that don't decompress", what, endpoint=endpoint)
        error.__cause__ = error.inner_exception = cause
        return error
    return ModelConnectionError(
        f"{endpoint} can't be reached, or broke the connection ({what}); "
        "check the base URL and that the endpoint is up",
        retryable=True,
        inner_exception=cause,
    )


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """How many seconds the headers ask us to wait; None if they don't say, or make no sense."""
    millis = _number(headers.get("retry-after-ms"))
    if millis is not None:
        return millis / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or not value:
        return seconds
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, OverflowError):
        return None


def _build(
    detail: Mapping[str, Any], status: int | None, endpoint: str, *, retry_after: float | None
) -> ModelError:
    code = _text(detail.get("code")) or _text(detail.get("type"))
    said = preview(_text(detail.get("message")) or "no reason given", _MESSAGE_CHARS)
    kind, advice = _kind(status, _codes(detail))
    refused = status is not None and not _is_failure(status)
    facts = [f"HTTP {status}"] if status is not None else []
    facts += [code] if code and code != str(status) else []
    shown = f" ({', '.join(facts)})" if facts else ""
    return kind(
        f"{endpoint} {'refused' if refused else 'failed'}{shown}: {said}{advice}",
        status=status,
        retryable=_retryable(kind, status, _codes(detail)),
        code=code,
        retry_after=retry_after if retry_after is not None else _number(detail.get("retry_after")),
    )


def _kind(status: int | None, codes: frozenset[str]) -> tuple[type[ModelError], str]:
    if codes & _FILTER_CODES:
        return ModelContentFilterError, "; change the request, it will be refused again"
    if status is None or _is_failure(status):
        return ModelServerError, ""
    if status in {401, 403}:
        return ModelAuthError, "; check the API key (OPENAI_API_KEY) and what it may use"
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return ModelRateLimitError, ""
    if status == HTTPStatus.REQUEST_TIMEOUT:
        return ModelTimeoutError, ""
    return ModelRequestError, ""


def _retryable(kind: type[ModelError], status: int | None, codes: frozenset[str]) -> bool:
    if kind is ModelContentFilterError or codes & _PERMANENT:
        return False
    # 501 "not implemented" and 505 will be said again.
    return (kind in {ModelServerError, ModelRateLimitError} and status not in {501, 505}) or (
        status in _PASSING
    )


def _is_failure(status: int) -> bool:
    return status >= HTTPStatus.INTERNAL_SERVER_ERROR


def _inner_status(detail: Mapping[str, Any]) -> int | None:
    for key in ("status", "status_code", "code"):
        number = _number(detail.get(key))
        if number is not None and int(number) in _ERROR_STATUSES:
            return int(number)
    return next((_STATUS_OF_CODE[c] for c in sorted(_codes(detail)) if c in _STATUS_OF_CODE), None)


def _codes(detail: Mapping[str, Any]) -> frozenset[str]:
    inner = detail.get("innererror")
    inner_code = inner.get("code") if isinstance(inner, Mapping) else None
    found = (detail.get("code"), detail.get("type"), inner_code)
    # Azure spells the inner one ResponsibleAIPolicyViolation.
    known = {"responsibleaipolicyviolation": "responsible_ai_policy_violation"}
    return frozenset(known.get(c.lower(), c.lower()) for c in found if isinstance(c, str))


def _detail(body: object) -> dict[str, Any] | None:
    """The error object in a body, in the shapes that endpoints use for it."""
    if not isinstance(body, Mapping):
        return None
    error = body.get("error")
    # Beside choices an empty error is a field that somebody always sends.
    if isinstance(error, Mapping) and (error or "choices" not in body):
        return {str(k): v for k, v in error.items()}
    if isinstance(error, str) and error:
        return {"message": error, "code": body.get("code"), "status": body.get("status")}
    if isinstance(error, list | int) and not isinstance(error, bool) and error:
        return {"message": json.dumps(error, default=str)}
    if error is True or body.get("object") == "error":
        return {str(k): v for k, v in body.items() if k != "error"}
    return _plain_detail(body)


def _plain_detail(body: Mapping[Any, Any]) -> dict[str, Any] | None:
    """An error without an ``error`` key, as web frameworks write it."""
    if "choices" in body:
        return None
    for key in ("message", "detail"):
        said = body.get(key)
        if said:
            text = said if isinstance(said, str) else json.dumps(said, default=str)
            return {"message": text, "code": body.get("code"), "type": body.get("type")}
    return None


def _json_or_none(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _ancestry(error: BaseException) -> set[str]:
    return {cls.__name__ for cls in type(error).__mro__}


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "no reason given"


def _text(value: object) -> str | None:
    return None if value is None or isinstance(value, bool) else str(value) or None


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if 0 <= number <= _FOREVER else None


def lower_headers(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Headers by their lower-case names; the last of equal names wins."""
    return {name.lower(): value for name, value in headers}
