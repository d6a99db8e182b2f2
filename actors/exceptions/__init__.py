"""The errors that agents, their clients, tools and workflows raise, under the names of MAF.

They stand in `actors` and in `protocols` as well; this is where code that was written for
Microsoft Agent Framework looks for them. Errors of the actors themselves are in `actors` only.
"""

from typing import TYPE_CHECKING

from protocols._lazy import lazy_names

if TYPE_CHECKING:
    from protocols._errors import (
        AdditionItemMismatch as AdditionItemMismatch,
        AgentContentFilterException as AgentContentFilterException,
        AgentException as AgentException,
        AgentFrameworkException as AgentFrameworkException,
        AgentInvalidAuthException as AgentInvalidAuthException,
        AgentInvalidRequestException as AgentInvalidRequestException,
        AgentInvalidResponseException as AgentInvalidResponseException,
        ChatClientContentFilterException as ChatClientContentFilterException,
        ChatClientException as ChatClientException,
        ChatClientInvalidAuthException as ChatClientInvalidAuthException,
        ChatClientInvalidRequestException as ChatClientInvalidRequestException,
        ChatClientInvalidResponseException as ChatClientInvalidResponseException,
        ContentError as ContentError,
        IntegrationContentFilterException as IntegrationContentFilterException,
        IntegrationException as IntegrationException,
        IntegrationInitializationError as IntegrationInitializationError,
        IntegrationInvalidAuthException as IntegrationInvalidAuthException,
        IntegrationInvalidRequestException as IntegrationInvalidRequestException,
        IntegrationInvalidResponseException as IntegrationInvalidResponseException,
        MiddlewareException as MiddlewareException,
        MiddlewareFailure as MiddlewareFailure,
        MiddlewareTermination as MiddlewareTermination,
        SettingNotFoundError as SettingNotFoundError,
        ToolException as ToolException,
        ToolExecutionException as ToolExecutionException,
        UserInputRequiredException as UserInputRequiredException,
        WorkflowCheckpointException as WorkflowCheckpointException,
        WorkflowConvergenceException as WorkflowConvergenceException,
        WorkflowException as WorkflowException,
        WorkflowRunnerException as WorkflowRunnerException,
    )

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "protocols._errors": """
            AdditionItemMismatch
            AgentContentFilterException AgentException AgentFrameworkException
            AgentInvalidAuthException AgentInvalidRequestException AgentInvalidResponseException
            ChatClientContentFilterException ChatClientException ChatClientInvalidAuthException
            ChatClientInvalidRequestException ChatClientInvalidResponseException
            ContentError
            IntegrationContentFilterException IntegrationException IntegrationInitializationError
            IntegrationInvalidAuthException IntegrationInvalidRequestException
            IntegrationInvalidResponseException
            MiddlewareException MiddlewareFailure MiddlewareTermination
            SettingNotFoundError ToolException ToolExecutionException UserInputRequiredException
            WorkflowCheckpointException WorkflowConvergenceException WorkflowException
            WorkflowRunnerException
        """,
    },
)
