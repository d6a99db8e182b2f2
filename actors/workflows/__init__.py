"""Workflows: executors, graphs of them, and their runs."""

from typing import TYPE_CHECKING

from protocols._lazy import lazy_names

if TYPE_CHECKING:
    from actors.workflows._agent_executor import (
        AgentExecutor as AgentExecutor,
        AgentExecutorState as AgentExecutorState,
        resolve_agent_id as resolve_agent_id,
    )
    from actors.workflows._agent_host import (
        AgentHostExecutor as AgentHostExecutor,
        AgentHostState as AgentHostState,
        ResetChatSignal as ResetChatSignal,
    )
    from actors.workflows._builder import (
        WorkflowBuilder as WorkflowBuilder,
    )
    from actors.workflows._context_api import (
        WorkflowContext as WorkflowContext,
    )
    from actors.workflows._declared import (
        UndeclaredTypeError as UndeclaredTypeError,
    )
    from actors.workflows._durable._answers import (
        Happened as Happened,
        Repeat as Repeat,
    )
    from actors.workflows._durable._errors import (
        GraphMismatchError as GraphMismatchError,
        UnknownOutcomeError as UnknownOutcomeError,
    )
    from actors.workflows._durable._worker import (
        Worker as Worker,
        WorkerOptions as WorkerOptions,
    )
    from actors.workflows._edges import (
        INTERNAL_SOURCE_ID as INTERNAL_SOURCE_ID,
        Edge as Edge,
        EdgeCondition as EdgeCondition,
        EdgeGroup as EdgeGroup,
        FanInEdgeGroup as FanInEdgeGroup,
        FanOutEdgeGroup as FanOutEdgeGroup,
        MapEdgeGroup as MapEdgeGroup,
        SingleEdgeGroup as SingleEdgeGroup,
    )
    from actors.workflows._executor import (
        Executor as Executor,
        RequestInfoMixin as RequestInfoMixin,
    )
    from actors.workflows._failure import (
        ExecutorFailure as ExecutorFailure,
    )
    from actors.workflows._function_executor import (
        FunctionExecutor as FunctionExecutor,
        executor as executor,
    )
    from actors.workflows._functional._context import (
        RunContext as RunContext,
        WorkflowRunContext as WorkflowRunContext,
        get_run_context as get_run_context,
    )
    from actors.workflows._functional._gather import (
        gather as gather,
    )
    from actors.workflows._functional._step import (
        StepWrapper as StepWrapper,
        step as step,
    )
    from actors.workflows._functional._workflow import (
        FunctionalWorkflow as FunctionalWorkflow,
        FunctionalWorkflowDefinition as FunctionalWorkflowDefinition,
        workflow as workflow,
    )
    from actors.workflows._graph import (
        Graph as Graph,
    )
    from actors.workflows._handlers import (
        handler as handler,
        response_handler as response_handler,
    )
    from actors.workflows._idle import (
        IdleTimeoutError as IdleTimeoutError,
    )
    from actors.workflows._input import (
        InputTypeError as InputTypeError,
    )
    from actors.workflows._joins import (
        quorum as quorum,
    )
    from actors.workflows._kwargs import (
        WorkflowInvocationKwargs as WorkflowInvocationKwargs,
    )
    from actors.workflows._open_run import (
        OpenRun as OpenRun,
    )
    from actors.workflows._result import (
        Replay as Replay,
        Undelivered as Undelivered,
        WorkflowRunResult as WorkflowRunResult,
    )
    from actors.workflows._run_stream import (
        RunStream as RunStream,
    )
    from actors.workflows._settings import (
        DEFAULT_MAX_ITERATIONS as DEFAULT_MAX_ITERATIONS,
        Settings as Settings,
    )
    from actors.workflows._switch import (
        Case as Case,
        Default as Default,
        SwitchCaseEdgeGroup as SwitchCaseEdgeGroup,
        SwitchCaseEdgeGroupCase as SwitchCaseEdgeGroupCase,
        SwitchCaseEdgeGroupDefault as SwitchCaseEdgeGroupDefault,
    )
    from actors.workflows._sync_context import SyncWorkflowContext as SyncWorkflowContext
    from actors.workflows._validate import (
        validate_workflow_graph as validate_workflow_graph,
    )
    from actors.workflows._validation_errors import (
        EdgeDuplicationError as EdgeDuplicationError,
        GraphConnectivityError as GraphConnectivityError,
        TypeCompatibilityError as TypeCompatibilityError,
        ValidationTypeEnum as ValidationTypeEnum,
        WorkflowGraphWarning as WorkflowGraphWarning,
        WorkflowValidationError as WorkflowValidationError,
    )
    from actors.workflows._viz import (
        WorkflowViz as WorkflowViz,
    )
    from actors.workflows._workflow import (
        Workflow as Workflow,
    )
    from actors.workflows._workflow_executor import (
        SubWorkflowRequestMessage as SubWorkflowRequestMessage,
        SubWorkflowResponseMessage as SubWorkflowResponseMessage,
        WorkflowExecutor as WorkflowExecutor,
    )

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "actors.workflows._declared": """
            UndeclaredTypeError
        """,
        "actors.workflows._idle": """
            IdleTimeoutError
        """,
        "actors.workflows._failure": """
            ExecutorFailure
        """,
        "actors.workflows._joins": """
            quorum
        """,
        "actors.workflows._sync_context": """
            SyncWorkflowContext
        """,
        "actors.workflows._agent_executor": """
            resolve_agent_id
            AgentExecutorState
            AgentExecutor
        """,
        "actors.workflows._builder": """
            WorkflowBuilder
        """,
        "actors.workflows._context_api": """
            WorkflowContext
        """,
        "actors.workflows._durable._answers": """
            Happened Repeat
        """,
        "actors.workflows._durable._errors": """
            GraphMismatchError UnknownOutcomeError
        """,
        "actors.workflows._durable._worker": """
            Worker WorkerOptions
        """,
        "actors.workflows._edges": """
            MapEdgeGroup
            Edge EdgeCondition EdgeGroup FanInEdgeGroup FanOutEdgeGroup INTERNAL_SOURCE_ID
            SingleEdgeGroup
        """,
        "actors.workflows._executor": """
            Executor RequestInfoMixin
        """,
        "actors.workflows._function_executor": """
            FunctionExecutor executor
        """,
        "actors.workflows._functional._context": """
            RunContext WorkflowRunContext get_run_context
        """,
        "actors.workflows._functional._gather": """
            gather
        """,
        "actors.workflows._functional._step": """
            StepWrapper step
        """,
        "actors.workflows._functional._workflow": """
            FunctionalWorkflow FunctionalWorkflowDefinition workflow
        """,
        "actors.workflows._graph": """
            Graph
        """,
        "actors.workflows._handlers": """
            handler response_handler
        """,
        "actors.workflows._input": """
            InputTypeError
        """,
        "actors.workflows._result": """
            Replay Undelivered WorkflowRunResult
        """,
        "actors.workflows._run_stream": """
            RunStream
        """,
        "actors.workflows._settings": """
            DEFAULT_MAX_ITERATIONS Settings
        """,
        "actors.workflows._switch": """
            Case Default SwitchCaseEdgeGroup SwitchCaseEdgeGroupCase
            SwitchCaseEdgeGroupDefault
        """,
        "actors.workflows._validate": """
            validate_workflow_graph
        """,
        "actors.workflows._validation_errors": """
            EdgeDuplicationError GraphConnectivityError TypeCompatibilityError
            ValidationTypeEnum WorkflowGraphWarning WorkflowValidationError
        """,
        "actors.workflows._viz": """
            WorkflowViz
        """,
        "actors.workflows._workflow": """
            Workflow
        """,
        "actors.workflows._kwargs": """
            WorkflowInvocationKwargs
        """,
        "actors.workflows._workflow_executor": """
            WorkflowExecutor SubWorkflowRequestMessage SubWorkflowResponseMessage
        """,
        "actors.workflows._open_run": """
            OpenRun
        """,
        "actors.workflows._agent_host": """
            AgentHostExecutor AgentHostState ResetChatSignal
        """,
    },
)
