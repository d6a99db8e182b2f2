"""Supervised actors and agent workflows for trio programs.

General layout, each line importing only those below it:

    actors.cli
    actors.testing      for tests and examples; nothing below imports it
    actors.agents       agents, sessions, clients of models
    actors.workflow     executors, graphs, runs
    actors._core        mailbox, dispatcher, supervisor, system: the only user of trio.lowlevel
    protocols           what is said: messages, events, errors, interfaces, codec

All public names are here, each once. They are loaded on use; heavy dependencies (openai,
pydantic, click, rich) are loaded later still, by what needs them.
"""

from typing import TYPE_CHECKING

from protocols._lazy import lazy_names

if TYPE_CHECKING:
    from actors._core._actor import (
        Actor as Actor,
    )
    from actors._core._context import (
        ActorContext as ActorContext,
    )
    from actors._core._errors import (
        ActorRestartingError as ActorRestartingError,
        ActorStoppedError as ActorStoppedError,
        AskTimeoutError as AskTimeoutError,
        DeadlockError as DeadlockError,
        LeftOpenError as LeftOpenError,
        MailboxFullError as MailboxFullError,
        NameTakenError as NameTakenError,
        OutboxLimitError as OutboxLimitError,
        RemoteError as RemoteError,
        RestartLimitError as RestartLimitError,
        StrayCancelledError as StrayCancelledError,
        TurnOverError as TurnOverError,
        UnhandledMessageError as UnhandledMessageError,
    )
    from actors._core._happenings import (
        ActorFailed as ActorFailed,
        ActorRestarted as ActorRestarted,
        ActorStarted as ActorStarted,
        ActorStopped as ActorStopped,
        DeadLetter as DeadLetter,
        Missed as Missed,
        ZombieActor as ZombieActor,
    )
    from actors._core._mailbox import (
        Counters as Counters,
        MailboxPolicy as MailboxPolicy,
    )
    from actors._core._reasons import (
        Crashed as Crashed,
        ExitReason as ExitReason,
        Finished as Finished,
        Killed as Killed,
        NotFound as NotFound,
        ShutDown as ShutDown,
        Terminated as Terminated,
    )
    from actors._core._ref import (
        ActorRef as ActorRef,
    )
    from actors._core._stream import (
        ResponseStream as ResponseStream,
    )
    from actors._core._supervision import (
        Backoff as Backoff,
        Restart as Restart,
        Supervision as Supervision,
    )
    from actors._core._system import (
        System as System,
        current_system as current_system,
        open_system as open_system,
    )
    from actors.agents._agent import (
        Agent as Agent,
        RawAgent as RawAgent,
    )
    from actors.agents._base import (
        BaseAgent as BaseAgent,
    )
    from actors.agents._client import (
        BaseChatClient as BaseChatClient,
        ChatMiddlewareLayer as ChatMiddlewareLayer,
        ChatTelemetryLayer as ChatTelemetryLayer,
        FunctionInvocationLayer as FunctionInvocationLayer,
        OptionsCoT as OptionsCoT,
    )
    from actors.agents._context import (
        ContextProvider as ContextProvider,
        SessionContext as SessionContext,
    )
    from actors.agents._echo import (
        EchoChatClient as EchoChatClient,
    )
    from actors.agents._function_config import (
        FunctionInvocationConfiguration as FunctionInvocationConfiguration,
        normalize_function_invocation_configuration as normalize_function_invocation_configuration,
    )
    from actors.agents._history import (
        HistoryProvider as HistoryProvider,
        InMemoryHistoryProvider as InMemoryHistoryProvider,
    )
    from actors.agents._local_model import (
        LocalModel as LocalModel,
        open_local_model as open_local_model,
    )
    from actors.agents._openai_client import (
        OpenAIChatCompletionClient as OpenAIChatCompletionClient,
    )
    from actors.agents._retry import (
        RetryPolicy as RetryPolicy,
    )
    from actors.agents._session import (
        AgentSession as AgentSession,
    )
    from actors.agents._state_codec import (
        register_state_type as register_state_type,
    )
    from actors.workflow._agent_executor import (
        AgentExecutor as AgentExecutor,
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
    from protocols._agents import (
        AgentExecutorRequest as AgentExecutorRequest,
        AgentExecutorResponse as AgentExecutorResponse,
        TurnToken as TurnToken,
    )
    from protocols._codec import (
        Codec as Codec,
        decode as decode,
        default_codec as default_codec,
        encode as encode,
    )
    from protocols._content import (
        Content as Content,
    )
    from protocols._content_fields import (
        Annotation as Annotation,
        TextSpanRegion as TextSpanRegion,
    )
    from protocols._errors import (
        ActorsError as ActorsError,
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
        CodecError as CodecError,
        ContentError as ContentError,
        EdgeConditionError as EdgeConditionError,
        EdgeSelectionError as EdgeSelectionError,
        IntegrationContentFilterException as IntegrationContentFilterException,
        IntegrationException as IntegrationException,
        IntegrationInitializationError as IntegrationInitializationError,
        IntegrationInvalidAuthException as IntegrationInvalidAuthException,
        IntegrationInvalidRequestException as IntegrationInvalidRequestException,
        IntegrationInvalidResponseException as IntegrationInvalidResponseException,
        LocalModelError as LocalModelError,
        MiddlewareException as MiddlewareException,
        MiddlewareFailure as MiddlewareFailure,
        MiddlewareTermination as MiddlewareTermination,
        ModelAuthError as ModelAuthError,
        ModelConnectionError as ModelConnectionError,
        ModelContentFilterError as ModelContentFilterError,
        ModelError as ModelError,
        ModelFileError as ModelFileError,
        ModelHashError as ModelHashError,
        ModelRateLimitError as ModelRateLimitError,
        ModelRequestError as ModelRequestError,
        ModelResponseError as ModelResponseError,
        ModelServerError as ModelServerError,
        ModelTimeoutError as ModelTimeoutError,
        SettingNotFoundError as SettingNotFoundError,
        ToolException as ToolException,
        ToolExecutionException as ToolExecutionException,
        UnknownTagError as UnknownTagError,
        UnregisteredTypeError as UnregisteredTypeError,
        UserInputRequiredException as UserInputRequiredException,
        WorkflowCheckpointException as WorkflowCheckpointException,
        WorkflowConvergenceException as WorkflowConvergenceException,
        WorkflowException as WorkflowException,
        WorkflowRunnerException as WorkflowRunnerException,
    )
    from protocols._events import (
        MessageType as MessageType,
        RequestDetails as RequestDetails,
        WorkflowErrorDetails as WorkflowErrorDetails,
        WorkflowEvent as WorkflowEvent,
        WorkflowEventSource as WorkflowEventSource,
        WorkflowMessage as WorkflowMessage,
        WorkflowRunState as WorkflowRunState,
    )
    from protocols._frozen import (
        FrozenDict as FrozenDict,
        FrozenList as FrozenList,
    )
    from protocols._interfaces import (
        SupportsAgentRun as SupportsAgentRun,
        SupportsChatGetResponse as SupportsChatGetResponse,
        SupportsCodeInterpreterTool as SupportsCodeInterpreterTool,
        SupportsFileSearchTool as SupportsFileSearchTool,
        SupportsImageGenerationTool as SupportsImageGenerationTool,
        SupportsMCPTool as SupportsMCPTool,
        SupportsResponseStream as SupportsResponseStream,
        SupportsShellTool as SupportsShellTool,
        SupportsWebSearchTool as SupportsWebSearchTool,
    )
    from protocols._log import (
        Log as Log,
    )
    from protocols._media_types import (
        detect_media_type_from_base64 as detect_media_type_from_base64,
    )
    from protocols._message import (
        AgentRunInputs as AgentRunInputs,
        Message as Message,
        normalize_messages as normalize_messages,
        prepend_instructions_to_messages as prepend_instructions_to_messages,
    )
    from protocols._options import (
        ChatOptions as ChatOptions,
        ToolMode as ToolMode,
        merge_chat_options as merge_chat_options,
        validate_tool_mode as validate_tool_mode,
    )
    from protocols._responses import (
        AgentResponse as AgentResponse,
        AgentResponseUpdate as AgentResponseUpdate,
        ChatResponse as ChatResponse,
        ChatResponseUpdate as ChatResponseUpdate,
        map_chat_to_agent_update as map_chat_to_agent_update,
    )
    from protocols._tags import (
        TypeRegistry as TypeRegistry,
        default_registry as default_registry,
        register_type as register_type,
    )
    from protocols._usage import (
        UsageDetails as UsageDetails,
        add_usage_details as add_usage_details,
    )

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "actors._core._actor": """
            Actor
        """,
        "actors._core._context": """
            ActorContext
        """,
        "actors._core._errors": """
            ActorRestartingError ActorStoppedError AskTimeoutError DeadlockError
            LeftOpenError MailboxFullError NameTakenError OutboxLimitError RemoteError
            RestartLimitError StrayCancelledError TurnOverError UnhandledMessageError
        """,
        "actors._core._happenings": """
            ActorFailed ActorRestarted ActorStarted ActorStopped DeadLetter Missed
            ZombieActor
        """,
        "actors._core._mailbox": """
            Counters MailboxPolicy
        """,
        "actors._core._reasons": """
            Crashed ExitReason Finished Killed NotFound ShutDown Terminated
        """,
        "actors._core._ref": """
            ActorRef
        """,
        "actors._core._stream": """
            ResponseStream
        """,
        "actors._core._supervision": """
            Backoff Restart Supervision
        """,
        "actors._core._system": """
            System current_system open_system
        """,
        "actors.agents._agent": """
            Agent RawAgent
        """,
        "actors.agents._base": """
            BaseAgent
        """,
        "actors.agents._client": """
            BaseChatClient ChatMiddlewareLayer ChatTelemetryLayer
            FunctionInvocationLayer OptionsCoT
        """,
        "actors.agents._context": """
            ContextProvider SessionContext
        """,
        "actors.agents._echo": """
            EchoChatClient
        """,
        "actors.agents._function_config": """
            FunctionInvocationConfiguration normalize_function_invocation_configuration
        """,
        "actors.agents._history": """
            HistoryProvider InMemoryHistoryProvider
        """,
        "actors.agents._local_model": """
            LocalModel open_local_model
        """,
        "actors.agents._openai_client": """
            OpenAIChatCompletionClient
        """,
        "actors.agents._retry": """
            RetryPolicy
        """,
        "actors.agents._session": """
            AgentSession
        """,
        "actors.agents._state_codec": """
            register_state_type
        """,
        "actors.workflow._agent_executor": """
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
        "protocols._agents": """
            AgentExecutorRequest AgentExecutorResponse TurnToken
        """,
        "protocols._codec": """
            Codec decode default_codec encode
        """,
        "protocols._content": """
            Content
        """,
        "protocols._content_fields": """
            Annotation TextSpanRegion
        """,
        "protocols._errors": """
            ActorsError AdditionItemMismatch AgentContentFilterException AgentException
            AgentFrameworkException AgentInvalidAuthException
            AgentInvalidRequestException AgentInvalidResponseException
            ChatClientContentFilterException ChatClientException
            ChatClientInvalidAuthException ChatClientInvalidRequestException
            ChatClientInvalidResponseException CodecError ContentError
            EdgeConditionError EdgeSelectionError IntegrationContentFilterException
            IntegrationException IntegrationInitializationError
            IntegrationInvalidAuthException IntegrationInvalidRequestException
            IntegrationInvalidResponseException LocalModelError MiddlewareException
            MiddlewareFailure MiddlewareTermination ModelAuthError ModelConnectionError
            ModelContentFilterError ModelError ModelFileError ModelHashError
            ModelRateLimitError ModelRequestError ModelResponseError ModelServerError
            ModelTimeoutError SettingNotFoundError ToolException ToolExecutionException
            UnknownTagError UnregisteredTypeError UserInputRequiredException
            WorkflowCheckpointException WorkflowConvergenceException WorkflowException
            WorkflowRunnerException
        """,
        "protocols._events": """
            MessageType RequestDetails WorkflowErrorDetails WorkflowEvent
            WorkflowEventSource WorkflowMessage WorkflowRunState
        """,
        "protocols._frozen": """
            FrozenDict FrozenList
        """,
        "protocols._interfaces": """
            SupportsAgentRun SupportsChatGetResponse SupportsCodeInterpreterTool
            SupportsFileSearchTool SupportsImageGenerationTool SupportsMCPTool
            SupportsResponseStream SupportsShellTool SupportsWebSearchTool
        """,
        "protocols._log": """
            Log
        """,
        "protocols._media_types": """
            detect_media_type_from_base64
        """,
        "protocols._message": """
            AgentRunInputs Message normalize_messages prepend_instructions_to_messages
        """,
        "protocols._options": """
            ChatOptions ToolMode merge_chat_options validate_tool_mode
        """,
        "protocols._responses": """
            AgentResponse AgentResponseUpdate ChatResponse ChatResponseUpdate
            map_chat_to_agent_update
        """,
        "protocols._tags": """
            TypeRegistry default_registry register_type
        """,
        "protocols._usage": """
            UsageDetails add_usage_details
        """,
    },
)
