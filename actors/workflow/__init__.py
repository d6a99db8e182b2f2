"""Workflows: executors, graphs of them, and their runs."""

from typing import TYPE_CHECKING

from protocols._lazy import lazy_names

if TYPE_CHECKING:
    from actors.workflow._agent_executor import (
        AgentExecutor as AgentExecutor,
        AgentExecutorState as AgentExecutorState,
        resolve_agent_id as resolve_agent_id,
    )
    from actors.workflow._builder import (
        WorkflowBuilder as WorkflowBuilder,
    )
    from actors.workflow._context_api import (
        WorkflowContext as WorkflowContext,
    )
    from actors.workflow._edges import (
        INTERNAL_SOURCE_ID as INTERNAL_SOURCE_ID,
        Edge as Edge,
        EdgeGroup as EdgeGroup,
        FanInEdgeGroup as FanInEdgeGroup,
        FanOutEdgeGroup as FanOutEdgeGroup,
        SingleEdgeGroup as SingleEdgeGroup,
    )
    from actors.workflow._executor import (
        Executor as Executor,
        RequestInfoMixin as RequestInfoMixin,
    )
    from actors.workflow._function_executor import (
        FunctionExecutor as FunctionExecutor,
        executor as executor,
    )
    from actors.workflow._graph import (
        Graph as Graph,
    )
    from actors.workflow._handlers import (
        handler as handler,
        response_handler as response_handler,
    )
    from actors.workflow._input import (
        InputTypeError as InputTypeError,
    )
    from actors.workflow._result import (
        Undelivered as Undelivered,
        WorkflowRunResult as WorkflowRunResult,
    )
    from actors.workflow._run_stream import (
        RunStream as RunStream,
    )
    from actors.workflow._settings import (
        DEFAULT_MAX_ITERATIONS as DEFAULT_MAX_ITERATIONS,
        Settings as Settings,
    )
    from actors.workflow._switch import (
        Case as Case,
        Default as Default,
        SwitchCaseEdgeGroup as SwitchCaseEdgeGroup,
        SwitchCaseEdgeGroupCase as SwitchCaseEdgeGroupCase,
        SwitchCaseEdgeGroupDefault as SwitchCaseEdgeGroupDefault,
    )
    from actors.workflow._sync_context import SyncWorkflowContext as SyncWorkflowContext
    from actors.workflow._validate import (
        validate_workflow_graph as validate_workflow_graph,
    )
    from actors.workflow._validation_errors import (
        EdgeDuplicationError as EdgeDuplicationError,
        GraphConnectivityError as GraphConnectivityError,
        TypeCompatibilityError as TypeCompatibilityError,
        ValidationTypeEnum as ValidationTypeEnum,
        WorkflowGraphWarning as WorkflowGraphWarning,
        WorkflowValidationError as WorkflowValidationError,
    )
    from actors.workflow._workflow import (
        Workflow as Workflow,
    )

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "actors.workflow._sync_context": """
            SyncWorkflowContext
        """,
        "actors.workflow._agent_executor": """
            resolve_agent_id
            AgentExecutorState
            AgentExecutor
        """,
        "actors.workflow._builder": """
            WorkflowBuilder
        """,
        "actors.workflow._context_api": """
            WorkflowContext
        """,
        "actors.workflow._edges": """
            Edge EdgeGroup FanInEdgeGroup FanOutEdgeGroup INTERNAL_SOURCE_ID
            SingleEdgeGroup
        """,
        "actors.workflow._executor": """
            Executor RequestInfoMixin
        """,
        "actors.workflow._function_executor": """
            FunctionExecutor executor
        """,
        "actors.workflow._graph": """
            Graph
        """,
        "actors.workflow._handlers": """
            handler response_handler
        """,
        "actors.workflow._input": """
            InputTypeError
        """,
        "actors.workflow._result": """
            Undelivered WorkflowRunResult
        """,
        "actors.workflow._run_stream": """
            RunStream
        """,
        "actors.workflow._settings": """
            DEFAULT_MAX_ITERATIONS Settings
        """,
        "actors.workflow._switch": """
            Case Default SwitchCaseEdgeGroup SwitchCaseEdgeGroupCase
            SwitchCaseEdgeGroupDefault
        """,
        "actors.workflow._validate": """
            validate_workflow_graph
        """,
        "actors.workflow._validation_errors": """
            EdgeDuplicationError GraphConnectivityError TypeCompatibilityError
            ValidationTypeEnum WorkflowGraphWarning WorkflowValidationError
        """,
        "actors.workflow._workflow": """
            Workflow
        """,
    },
)
