"""The errors whose names come from Microsoft Agent Framework: what catches what."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import actors.exceptions as named
from actors.openai import OpenAIContentFilterException
from protocols import AgentFrameworkException, Content, ToolException, UserInputRequiredException

# Each with what it is caught by.
TREE = {
    "AgentException": "AgentFrameworkException",
    "AgentInvalidAuthException": "AgentException",
    "AgentInvalidRequestException": "AgentException",
    "AgentInvalidResponseException": "AgentException",
    "AgentContentFilterException": "AgentException",
    "ChatClientException": "AgentFrameworkException",
    "ChatClientInvalidAuthException": "ChatClientException",
    "ChatClientInvalidRequestException": "ChatClientException",
    "ChatClientInvalidResponseException": "ChatClientException",
    "ChatClientContentFilterException": "ChatClientException",
    "IntegrationException": "AgentFrameworkException",
    "IntegrationInitializationError": "IntegrationException",
    "IntegrationInvalidAuthException": "IntegrationException",
    "IntegrationInvalidRequestException": "IntegrationException",
    "IntegrationInvalidResponseException": "IntegrationException",
    "IntegrationContentFilterException": "IntegrationException",
    "ContentError": "AgentFrameworkException",
    "AdditionItemMismatch": "ContentError",
    "ToolException": "AgentFrameworkException",
    "ToolExecutionException": "ToolException",
    "UserInputRequiredException": "ToolException",
    "MiddlewareException": "AgentFrameworkException",
    "MiddlewareTermination": "MiddlewareException",
    "MiddlewareFailure": "MiddlewareException",
    "SettingNotFoundError": "AgentFrameworkException",
    "WorkflowException": "AgentFrameworkException",
    "WorkflowRunnerException": "WorkflowException",
    "WorkflowConvergenceException": "WorkflowRunnerException",
    "WorkflowCheckpointException": "WorkflowRunnerException",
}


@pytest.mark.parametrize(("name", "base"), TREE.items())
def test_each_error_is_caught_by_its_kind(name: str, base: str) -> None:
    assert issubclass(getattr(named, name), getattr(named, base))


def test_the_filter_of_the_models_endpoint_is_a_filter_of_a_client() -> None:
    assert issubclass(OpenAIContentFilterException, named.ChatClientContentFilterException)


def test_an_error_keeps_what_led_to_it() -> None:
    inner = OSError("gone")
    error = ToolException("no luck", inner)
    assert (str(error), error.inner_exception, error.__cause__) == ("no luck", inner, inner)


@pytest.mark.parametrize(
    ("given", "seen"),
    [({"log_level": None}, []), ({"log_level": logging.WARNING}, ["WARNING"]), ({}, ["DEBUG"])],
)
def test_an_error_logs_itself_as_loud_as_it_is_told(
    caplog: pytest.LogCaptureFixture, given: Any, seen: list[str]
) -> None:
    caplog.set_level(logging.DEBUG, "protocols")
    AgentFrameworkException("no luck", **given)
    assert [record.levelname for record in caplog.records] == seen
    assert all("no luck" in record.getMessage() for record in caplog.records)


def test_a_request_for_a_person_carries_its_contents() -> None:
    contents = [Content.from_oauth_consent_request("https://x")]
    assert UserInputRequiredException(contents).contents == contents
