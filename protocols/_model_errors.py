"""Errors of models: of the endpoints that answer, and of a model that is served here.

Each is an ``ActorsError``; what an endpoint does wrong is an error of MAF's tree, too.
"""

from __future__ import annotations

from protocols._errors import (
    ActorsError,
    ChatClientContentFilterException,
    ChatClientException,
    ChatClientInvalidAuthException,
    ChatClientInvalidRequestException,
    ChatClientInvalidResponseException,
)


class ModelError(ActorsError, ChatClientException):
    """A call to a model failed; ``status`` and ``retryable`` say what a retry policy needs.

    Args:
        message: what happened, at which endpoint, and what to do.
        status: the HTTP status, or the one that a body of HTTP 200 carried; None without one.
        retryable: whether the same request may succeed later.
        code: the endpoint's own error code, if it sent one.
        retry_after: seconds to wait before the next try, if the endpoint said so.
        inner_exception: the error underneath.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retryable: bool = False,
        code: str | None = None,
        retry_after: float | None = None,
        inner_exception: BaseException | None = None,
    ) -> None:
        super().__init__(message, inner_exception)
        self.status = status
        self.retryable = retryable
        self.code = code
        self.retry_after = retry_after


class ModelAuthError(ModelError, ChatClientInvalidAuthException):
    """The endpoint refused the key (HTTP 401 or 403)."""


class ModelRequestError(ModelError, ChatClientInvalidRequestException):
    """The endpoint refused the request (HTTP 400, 404, 413, 422)."""


class ModelRateLimitError(ModelError):
    """The endpoint wants us to slow down (HTTP 429)."""


class ModelServerError(ModelError):
    """The endpoint failed (HTTP 5xx), or said so in an answer of its own."""


class ModelResponseError(ModelError, ChatClientInvalidResponseException):
    """The endpoint's answer can't be read: malformed, cut off, or an error page."""


class ModelConnectionError(ModelError):
    """The endpoint could not be reached, or the connection broke."""


class ModelTimeoutError(ModelError, TimeoutError):
    """The endpoint didn't answer in time."""


class ModelContentFilterError(ModelError, ChatClientContentFilterException):
    """The endpoint's content filter refused."""


# ------------------------------------------------------------------- the local model


class ModelFileError(ActorsError):
    """The file of a local model is missing, unusable, or could not be fetched.

    Args:
        message: what happened, to which file, and what to do.
        path: the file it is about.
    """

    def __init__(self, message: str, *, path: str = "") -> None:
        super().__init__(message)
        self.path = path


class ModelHashError(ModelFileError):
    """A model file isn't the one it should be.

    Args:
        message: what happened, to which file, and what to do.
        path: the file it is about.
        expected: the SHA-256 it should have, in hexadecimal digits.
        got: the SHA-256 it has.
    """

    def __init__(self, message: str, *, path: str, expected: str, got: str) -> None:
        super().__init__(
            f"{message} (SHA-256 expected: {expected}, got: {got})",
            path=path,
        )
        self.expected = expected
        self.got = got


class LocalModelError(ActorsError):
    """The server of a local model could not be started, or kept dying.

    Args:
        message: what happened, to which server, and what to do.
        stderr: the last lines that the server wrote to its standard error.
        returncode: how its process ended, negative for a signal; None if it was still there.
    """

    def __init__(self, message: str, *, stderr: str = "", returncode: int | None = None) -> None:
        super().__init__(f"{message}\n{stderr}" if stderr else message)
        self.message = message
        self.stderr = stderr
        self.returncode = returncode
