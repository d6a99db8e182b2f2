"""Workflows: executors, graphs of them, and their runs."""

from typing import TYPE_CHECKING

from protocols._lazy import lazy_names

if TYPE_CHECKING:
    from actors.workflows._agents._agent_executor import (
        AgentExecutor as AgentExecutor,
        AgentExecutorState as AgentExecutorState,
        resolve_agent_id as resolve_agent_id,
    )
    from actors.workflows._agents._agent_host import (
        AgentHostExecutor as AgentHostExecutor,
        AgentHostState as AgentHostState,
        ResetChatSignal as ResetChatSignal,
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
    from actors.workflows._functional._context import (
        RunContext as RunContext,
        WorkflowRunContext as WorkflowRunContext,
        get_run_context as get_run_context,
    )
    from actors.workflows._functional._decorator import (
        workflow as workflow,
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
    )
    from actors.workflows._graph._builder import (
        WorkflowBuilder as WorkflowBuilder,
    )
    from actors.workflows._graph._context_api import (
        WorkflowContext as WorkflowContext,
    )
    from actors.workflows._graph._definition import (
        Graph as Graph,
    )
    from actors.workflows._graph._edges import (
        INTERNAL_SOURCE_ID as INTERNAL_SOURCE_ID,
        Edge as Edge,
        EdgeCondition as EdgeCondition,
        EdgeGroup as EdgeGroup,
        FanInEdgeGroup as FanInEdgeGroup,
        FanOutEdgeGroup as FanOutEdgeGroup,
        MapEdgeGroup as MapEdgeGroup,
        SingleEdgeGroup as SingleEdgeGroup,
    )
    from actors.workflows._graph._executor import (
        Executor as Executor,
        RequestInfoMixin as RequestInfoMixin,
    )
    from actors.workflows._graph._failure import (
        ExecutorFailure as ExecutorFailure,
    )
    from actors.workflows._graph._function_executor import (
        FunctionExecutor as FunctionExecutor,
        executor as executor,
    )
    from actors.workflows._graph._handlers import (
        handler as handler,
        response_handler as response_handler,
    )
    from actors.workflows._graph._joins import (
        quorum as quorum,
    )
    from actors.workflows._graph._settings import (
        DEFAULT_MAX_ITERATIONS as DEFAULT_MAX_ITERATIONS,
        Settings as Settings,
    )
    from actors.workflows._graph._switch import (
        Case as Case,
        Default as Default,
        SwitchCaseEdgeGroup as SwitchCaseEdgeGroup,
        SwitchCaseEdgeGroupCase as SwitchCaseEdgeGroupCase,
        SwitchCaseEdgeGroupDefault as SwitchCaseEdgeGroupDefault,
    )
    from actors.workflows._graph._sync_context import SyncWorkflowContext as SyncWorkflowContext
    from actors.workflows._graph._validate import (
        validate_workflow_graph as validate_workflow_graph,
    )
    from actors.workflows._graph._validation_errors import (
        EdgeDuplicationError as EdgeDuplicationError,
        GraphConnectivityError as GraphConnectivityError,
        TypeCompatibilityError as TypeCompatibilityError,
        ValidationTypeEnum as ValidationTypeEnum,
        WorkflowGraphWarning as WorkflowGraphWarning,
        WorkflowValidationError as WorkflowValidationError,
    )
    from actors.workflows._nested._workflow_executor import (
        SubWorkflowRequestMessage as SubWorkflowRequestMessage,
        SubWorkflowResponseMessage as SubWorkflowResponseMessage,
        WorkflowExecutor as WorkflowExecutor,
    )
    from actors.workflows._running._idle import (
        IdleTimeoutError as IdleTimeoutError,
    )
    from actors.workflows._running._input import (
        InputTypeError as InputTypeError,
    )
    from actors.workflows._running._kwargs import (
        WorkflowInvocationKwargs as WorkflowInvocationKwargs,
    )
    from actors.workflows._running._open_run import (
        OpenRun as OpenRun,
    )
    from actors.workflows._running._result import (
        Replay as Replay,
        Undelivered as Undelivered,
        WorkflowRunResult as WorkflowRunResult,
    )
    from actors.workflows._running._run_stream import (
        RunStream as RunStream,
    )
    from actors.workflows._typing._declared import (
        UndeclaredTypeError as UndeclaredTypeError,
    )
    from actors.workflows._viz._viz import (
        WorkflowViz as WorkflowViz,
    )
    from actors.workflows._workflow import (
        Workflow as Workflow,
    )

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "actors.workflows._agents._agent_executor": """
            AgentExecutor AgentExecutorState resolve_agent_id
        """,
        "actors.workflows._agents._agent_host": """
            AgentHostExecutor AgentHostState ResetChatSignal
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
        "actors.workflows._functional._context": """
            get_run_context RunContext WorkflowRunContext
        """,
        "actors.workflows._functional._decorator": """
            workflow
        """,
        "actors.workflows._functional._gather": """
            gather
        """,
        "actors.workflows._functional._step": """
            step StepWrapper
        """,
        "actors.workflows._functional._workflow": """
            FunctionalWorkflow FunctionalWorkflowDefinition
        """,
        "actors.workflows._graph._builder": """
            WorkflowBuilder
        """,
        "actors.workflows._graph._context_api": """
            WorkflowContext
        """,
        "actors.workflows._graph._definition": """
            Graph
        """,
        "actors.workflows._graph._edges": """
            Edge EdgeCondition EdgeGroup FanInEdgeGroup FanOutEdgeGroup
            INTERNAL_SOURCE_ID MapEdgeGroup SingleEdgeGroup
        """,
        "actors.workflows._graph._executor": """
            Executor RequestInfoMixin
        """,
        "actors.workflows._graph._failure": """
            ExecutorFailure
        """,
        "actors.workflows._graph._function_executor": """
            executor FunctionExecutor
        """,
        "actors.workflows._graph._handlers": """
            handler response_handler
        """,
        "actors.workflows._graph._joins": """
            quorum
        """,
        "actors.workflows._graph._settings": """
            DEFAULT_MAX_ITERATIONS Settings
        """,
        "actors.workflows._graph._switch": """
            Case Default SwitchCaseEdgeGroup SwitchCaseEdgeGroupCase
            SwitchCaseEdgeGroupDefault
        """,
        "actors.workflows._graph._sync_context": """
            SyncWorkflowContext
        """,
        "actors.workflows._graph._validate": """
            validate_workflow_graph
        """,
        "actors.workflows._graph._validation_errors": """
            EdgeDuplicationError GraphConnectivityError TypeCompatibilityError
            ValidationTypeEnum WorkflowGraphWarning WorkflowValidationError
        """,
        "actors.workflows._nested._workflow_executor": """
            SubWorkflowRequestMessage SubWorkflowResponseMessage WorkflowExecutor
        """,
        "actors.workflows._running._idle": """
            IdleTimeoutError
        """,
        "actors.workflows._running._input": """
            InputTypeError
        """,
        "actors.workflows._running._kwargs": """
            WorkflowInvocationKwargs
        """,
        "actors.workflows._running._open_run": """
            OpenRun
        """,
        "actors.workflows._running._result": """
            Replay Undelivered WorkflowRunResult
        """,
        "actors.workflows._running._run_stream": """
            RunStream
        """,
        "actors.workflows._typing._declared": """
            UndeclaredTypeError
        """,
        "actors.workflows._viz._viz": """
            WorkflowViz
        """,
        "actors.workflows._workflow": """
            Workflow
        """,
    },
)
