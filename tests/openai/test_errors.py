"""Each thing that endpoints do wrong has one error class, and a message that helps."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from actors.agents._openai._errors import (
    cut_off,
    error_from_body,
    error_from_status,
    error_from_transport,
    is_transport_error,
    preview,
    retry_after,
)
from protocols._errors import (
    ChatClientContentFilterException,
    ChatClientException,
    ChatClientInvalidAuthException,
    ChatClientInvalidRequestException,
    ChatClientInvalidResponseException,
)
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

HERE = "http://here/v1 (model m)"


def from_status(status: int, body: object = "", **headers: str) -> ModelError:
    data = body if isinstance(body, bytes) else json.dumps(body).encode() if body else b""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return error_from_status(status, data, given, endpoint=HERE, now=0.0)


def from_body(body: object, raw: bytes = b"") -> ModelError:
    error = error_from_body(body, endpoint=HERE, raw=raw)
    assert error is not None
    return error


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, ModelRequestError, False),
        (401, ModelAuthError, False),
        (403, ModelAuthError, False),
        (404, ModelRequestError, False),
        (408, ModelTimeoutError, True),
        (409, ModelRequestError, True),
        (413, ModelRequestError, False),
        (422, ModelRequestError, False),
        (429, ModelRateLimitError, True),
        (500, ModelServerError, True),
        (501, ModelServerError, False),
        (502, ModelServerError, True),
        (503, ModelServerError, True),
        (529, ModelServerError, True),
        (799, ModelServerError, True),
    ],
)
def test_a_status_has_its_class(status: int, kind: type[ModelError], retryable: bool) -> None:
    error = from_status(status, {"error": {"message": "so it is", "code": "x"}})
    assert type(error) is kind
    assert (error.status, error.retryable, error.code) == (status, retryable, "x")
    assert HERE in str(error)
    assert "so it is" in str(error)


def test_the_classes_are_those_that_code_for_the_other_framework_catches() -> None:
    pairs = {
        ModelAuthError: ChatClientInvalidAuthException,
        ModelRequestError: ChatClientInvalidRequestException,
        ModelResponseError: ChatClientInvalidResponseException,
        ModelContentFilterError: ChatClientContentFilterException,
        ModelTimeoutError: TimeoutError,
        ModelRateLimitError: ChatClientException,
    }
    assert all(issubclass(ours, theirs) for ours, theirs in pairs.items())


@pytest.mark.parametrize(
    "detail",
    [
        {"message": "no", "code": "content_filter"},
        {"message": "no", "type": "content_policy_violation"},
        {"message": "no", "code": "x", "innererror": {"code": "ResponsibleAIPolicyViolation"}},
    ],
)
def test_a_content_filter_is_told_from_other_bad_requests(detail: dict[str, Any]) -> None:
    error = from_status(400, {"error": detail})
    assert type(error) is ModelContentFilterError
    assert not error.retryable


def test_an_empty_account_is_a_rate_limit_that_waiting_does_not_help() -> None:
    error = from_status(429, {"error": {"message": "pay", "code": "insufficient_quota"}})
    assert type(error) is ModelRateLimitError
    assert not error.retryable


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": "in a word"}, "in a word"),
        ({"error": ["in", "a", "list"]}, "list"),
        ({"error": {"code": 500}}, "no reason given"),
        ({"detail": [{"loc": ["body"], "msg": "field required"}]}, "field required"),
        ({"message": "without a wrapper"}, "without a wrapper"),
        ({"object": "error", "message": "vllm's way"}, "vllm's way"),
        (b"<html>Bad Gateway</html>", "<html>Bad Gateway</html>"),
        (b"\xff\xfe", "\ufffd"),
        (b"", "Internal Server Error"),
        (b"[" * 100_000, "[[["),
    ],
)
def test_what_an_endpoint_says_is_in_the_message(body: object, said: str) -> None:
    assert said in str(from_status(500, body))


def test_a_long_body_is_cut() -> None:
    assert len(str(from_status(500, b"x" * 1_000_000))) < 1000
    assert len(str(from_status(500, {"error": {"message": "x" * 1_000_000}}))) < 1000


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({"error": {"code": 429, "message": "slow down"}}, 429, ModelRateLimitError),
        ({"error": {"code": "429", "message": "slow down"}}, 429, ModelRateLimitError),
        (
            {"error": {"code": "rate_limit_exceeded", "message": "slow down"}},
            429,
            ModelRateLimitError,
        ),
        ({"error": {"type": "overloaded_error", "message": "slow down"}}, 503, ModelServerError),
        ({"error": {"type": "authentication_error", "message": "slow down"}}, 401, ModelAuthError),
        ({"error": "slow down", "status": 503}, 503, ModelServerError),
        ({"error": {"message": "slow down", "code": 7}}, None, ModelServerError),
        ({"error": True, "message": "slow down"}, None, ModelServerError),
        ({"detail": "slow down"}, None, ModelServerError),
    ],
)
def test_an_error_in_a_200_is_what_it_says_it_is(
    body: object, status: int | None, kind: type[ModelError]
) -> None:
    error = from_body(body)
    assert (type(error), error.status) == (kind, status)
    assert "slow down" in str(error)


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        3,
        "x",
        {},
        {"choices": []},
        {"error": None, "choices": []},
        {"error": {}, "choices": []},
        {"error": False},
    ],
)
def test_an_answer_is_no_error(body: object) -> None:
    assert error_from_body(body, endpoint=HERE) is None


def test_an_error_without_words_shows_the_body() -> None:
    assert '{"error": {"code": 500' in str(from_body({"error": {"code": 500}}, b""))


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "2"}, 2.0),
        ({"retry_after": "0.5"}, 0.5),
        ({"retry_after_ms": "100", "retry_after": "2"}, 0.1),
        ({"retry_after": "Thu, 01 Jan 1970 00:01:00 GMT"}, 60.0),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "-5"}, None),
        ({"retry_after": "nan"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_all_its_forms(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert from_status(429, **headers).retry_after == seconds


def test_a_date_in_the_past_means_now() -> None:
    assert retry_after({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, now=1e9) == 0.0


def test_a_wait_in_the_body_counts_too() -> None:
    assert from_body({"error": {"code": 429, "message": "x", "retry_after": 3}}).retry_after == 3


class HTTPError(Exception):
    """The root of the transport's errors."""


class TimeoutException(HTTPError):
    pass


class DecodingError(HTTPError):
    pass


@pytest.mark.parametrize(
    ("cause", "kind", "retryable"),
    [
        (TimeoutException("read"), ModelTimeoutError, True),
        (HTTPError("refused"), ModelConnectionError, True),
        (ConnectionResetError(), ModelConnectionError, True),
        (DecodingError("gzip"), ModelResponseError, False),
    ],
)
def test_what_breaks_below_has_its_class(
    cause: Exception, kind: type[ModelError], retryable: bool
) -> None:
    assert is_transport_error(cause)
    error = error_from_transport(cause, endpoint=HERE)
    assert (type(error), error.retryable, error.__cause__) == (kind, retryable, cause)


def test_a_mistake_of_ours_is_not_blamed_on_the_network() -> None:
    assert not is_transport_error(TypeError("oops"))


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        (None, ModelResponseError),
        (ModelConnectionError("reset"), ModelConnectionError),
        (ModelTimeoutError("slow"), ModelTimeoutError),
    ],
)
def test_half_an_answer_says_how_much_it_was(
    cause: ModelError | None, kind: type[ModelError]
) -> None:
    error = cut_off("3 chunks", endpoint=HERE, cause=cause)
    assert type(error) is kind
    assert "after 3 chunks" in str(error)
    assert error.__cause__ is cause


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["error", "message", "code", "type", "choices", "status", "innererror"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(json_values, st.integers(100, 999))
def test_no_body_breaks_the_classification(body: Any, status: int) -> None:
    error_from_body(body, endpoint=HERE)
    assert isinstance(from_status(status, body), ModelError)


def test_a_preview_is_one_short_line() -> None:
    assert preview(b"a\n\n  b\t" + b"c" * 1000, 10) == "a b cccccc…"
