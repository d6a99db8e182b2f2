"""The errors that this project raises on purpose; those of models are in `_model_errors`.

Two trees stand side by side. ``ActorsError`` is the root of the runtime's own errors; the
``…Exception`` tree has the names that code written for Microsoft Agent Framework catches.
Where one error is both, it inherits from both, so that either ``except`` clause works.
"""

from __future__ import annotations

import logging
from typing import Any, Final

_LOG: Final = logging.getLogger(__name__)


class ActorsError(Exception):
    """Root of the errors of the actor runtime, its codec and its model clients."""


def message_of(error: BaseException) -> str:
    """Return what an error says, which may be nothing; its ``__str__`` may be wrong itself."""
    try:
        return str(error)
    except Exception as unprintable:  # noqa: BLE001  (it is the user's code)
        return f"(its __str__ raised {type(unprintable).__name__})"


def described(error: BaseException) -> str:
    """Return the type of an error, and what it says, if it says anything."""
    said = message_of(error)
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


# --------------------------------------------------------------------- MAF's tree


class AgentFrameworkException(Exception):
    """Root of the errors whose names come from Microsoft Agent Framework.

    Args:
        message: what happened, to whom, and what to do.
        inner_exception: the error that led to this one; it becomes the ``__cause__``.
        log_level: of the log record that is made of it; None for no record. Nobody sees those
            of the default, ``DEBUG``, who hasn't asked for them.
    """

    def __init__(
        self,
        message: str = "",
        inner_exception: BaseException | None = None,
        log_level: int | None = logging.DEBUG,
        *_: Any,
        **__: Any,
    ) -> None:
        super().__init__(message)
        if log_level is not None:
            _LOG.log(log_level, "%s: %s", type(self).__name__, message, exc_info=inner_exception)
        self.message = message
        self.inner_exception = inner_exception
        if inner_exception is not None:
            self.__cause__ = inner_exception


class AgentException(AgentFrameworkException):
    """An agent could not do what it was asked."""


class AgentInvalidAuthException(AgentException):
    """The agent's credentials were refused."""


class AgentInvalidRequestException(AgentException):
    """The agent can't run with this input, session or option."""


class AgentInvalidResponseException(AgentException):
    """What the agent got back makes no sense."""


class AgentContentFilterException(AgentException):
    """A content filter refused the input or the output of an agent."""


class ChatClientException(AgentFrameworkException):
    """A call to a model failed."""


class ChatClientInvalidAuthException(ChatClientException):
    """The endpoint refused the credentials (HTTP 401 or 403)."""


class ChatClientInvalidRequestException(ChatClientException):
    """The endpoint, or the client itself, refused the request."""


class ChatClientInvalidResponseException(ChatClientException):
    """The endpoint answered with something that is no answer."""


class ChatClientContentFilterException(ChatClientException):
    """A content filter of the endpoint refused the request or the answer."""


class IntegrationException(AgentFrameworkException):
    """A service beside the model failed."""


class IntegrationInitializationError(IntegrationException):
    """A service could not be set up."""


class IntegrationInvalidAuthException(IntegrationException):
    """A service refused the credentials."""


class IntegrationInvalidRequestException(IntegrationException):
    """A service refused the request."""


class IntegrationInvalidResponseException(IntegrationException):
    """A service answered with something that is no answer."""


class IntegrationContentFilterException(IntegrationException):
    """A content filter of a service refused."""


class ContentError(AgentFrameworkException):
    """A content item is malformed, or not usable this way."""


class AdditionItemMismatch(ContentError):
    """Two content items can't be merged into one."""


class ToolException(AgentFrameworkException):
    """A tool is declared or used wrongly."""


class ToolExecutionException(ToolException):
    """A tool ran and failed."""


class UserInputRequiredException(ToolException):
    """A tool needs a person before it can go on.

    Args:
        contents: the requests to hand to the person.
        message: what is needed.
    """

    def __init__(
        self,
        contents: Any = (),
        message: str = "this tool needs input from a person",
        inner_exception: BaseException | None = None,
    ) -> None:
        super().__init__(message, inner_exception)
        self.contents = list(contents)


class MiddlewareException(AgentFrameworkException):
    """A middleware is declared or used wrongly."""


class MiddlewareTermination(MiddlewareException):
    """Raised by a middleware to end the run with ``result``."""

    def __init__(
        self, message: str = "The run was ended by a middleware.", *, result: Any = None
    ) -> None:
        super().__init__(message)
        self.result = result


class MiddlewareFailure(MiddlewareException):
    """Raised by a function middleware to fail the whole run, not just the tool call."""


class SettingNotFoundError(AgentFrameworkException):
    """A setting that is needed was neither given nor found in the environment."""


class WorkflowException(AgentFrameworkException):
    """A workflow can't be used this way."""


class WorkflowRunnerException(WorkflowException):
    """A run of a workflow failed for a reason of the runner's."""


class WorkflowConvergenceException(WorkflowRunnerException):
    """A run was not done after ``max_iterations``.

    Args:
        message: which run, and what to do.
        max_iterations: how many there could be.
        in_flight: the messages that nobody has handled yet, each with the executor it is for.
    """

    def __init__(
        self,
        message: str = "",
        inner_exception: BaseException | None = None,
        *,
        max_iterations: int | None = None,
        in_flight: tuple[tuple[str, Any], ...] = (),
    ) -> None:
        super().__init__(message, inner_exception)
        self.max_iterations = max_iterations
        self.in_flight = in_flight


class WorkflowCheckpointException(WorkflowRunnerException):
    """A workflow checkpoint could not be written, read or used."""


# --------------------------------------------------------------------------- codec


class CodecError(ActorsError):
    """A value could not be encoded or decoded.

    Args:
        message: what is wrong.
        path: where in the value, as a JSON path such as ``$.messages[0].role``.
    """

    def __init__(self, message: str, path: str = "$") -> None:
        super().__init__(f"{message} (at {path})")
        self.reason = message
        self.path = path


class UnregisteredTypeError(CodecError):
    """A value of a type that the codec doesn't know was to be encoded."""


class UnknownTagError(CodecError):
    """Data carries a tag that no type is registered for."""


# ----------------------------------------------------------------------- workflow graphs


class EdgeConditionError(WorkflowRunnerException):
    """A condition or selector of an edge raised; the error is its ``__cause__``.

    Args:
        message: which one, what it raised, and what to do.
        edge_id: the id of the edge, or of the group whose selector it is.
        inner_exception: the error it raised.
    """

    def __init__(
        self, message: str, *, edge_id: str, inner_exception: BaseException | None = None
    ) -> None:
        super().__init__(message, inner_exception)
        self.edge_id = edge_id


class EdgeSelectionError(EdgeConditionError, RuntimeError):
    """A selector picked executors that its edges don't lead to."""


# ------------------------------------------------------------------ answers to requests


class RequestError(WorkflowException, ValueError):
    """An answer can't be taken; nothing has changed, and what was open still is.

    Args:
        message: which request, what is wrong, and what to do.
        request_id: the request that was to be answered.
    """

    def __init__(self, message: str, *, request_id: str) -> None:
        super().__init__(message)
        self.request_id = request_id


class UnknownRequestError(RequestError):
    """No request of this id is open."""


class AnsweredRequestError(UnknownRequestError):
    """The request was answered before; each is answered once."""


class ResponseTypeError(RequestError, TypeError):
    """The answer isn't of the type that the request wants, nor can it be made one."""
