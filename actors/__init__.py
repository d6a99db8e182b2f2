"""Supervised actors and agent workflows for trio programs.

General layout, each line importing only those below it:

    actors.cli
    actors.testing      for tests and examples; nothing below imports it
    actors.agents       agents, sessions, clients of models
    actors.workflows    executors, graphs, runs
    actors.checkpoint   storages of runs
    actors._core        mailbox, dispatcher, supervisor, system: the only user of trio.lowlevel
    protocols           what is said: messages, events, errors, interfaces, codec

All public names are here, each once. They are loaded on use; heavy dependencies (openai,
pydantic, click, rich) are loaded later still, by what needs them.
"""

from typing import TYPE_CHECKING

try:
    from protocols._lazy import lazy_names
except ImportError as error:  # pragma: no cover  (a process of its own shows it: tests/cli)
    import protocols

    where = getattr(protocols, "__file__", None) or list(getattr(protocols, "__path__", []))
    raise ImportError(
        f"the package `protocols` of trio-actors is hidden by yours at {where}; rename that, for "
        "example to my_protocols"
    ) from error

if TYPE_CHECKING:
    from actors._core import (
        Actor as Actor,
        ActorContext as ActorContext,
        ActorFacts as ActorFacts,
        ActorFailed as ActorFailed,
        ActorRef as ActorRef,
        ActorRestarted as ActorRestarted,
        ActorRestartingError as ActorRestartingError,
        ActorStarted as ActorStarted,
        ActorStopped as ActorStopped,
        ActorStoppedError as ActorStoppedError,
        AskTimeoutError as AskTimeoutError,
        Backoff as Backoff,
        Counters as Counters,
        Crashed as Crashed,
        DeadLetter as DeadLetter,
        DeadlockError as DeadlockError,
        ExitReason as ExitReason,
        Finished as Finished,
        Killed as Killed,
        LeftOpenError as LeftOpenError,
        MailboxFullError as MailboxFullError,
        MailboxPolicy as MailboxPolicy,
        Missed as Missed,
        NameTakenError as NameTakenError,
        NotFound as NotFound,
        OutboxLimitError as OutboxLimitError,
        RemoteError as RemoteError,
        ResponseStream as ResponseStream,
        Restart as Restart,
        RestartLimitError as RestartLimitError,
        ShutDown as ShutDown,
        StalledTurn as StalledTurn,
        StashLimitError as StashLimitError,
        StrayCancelledError as StrayCancelledError,
        Supervision as Supervision,
        System as System,
        SystemFacts as SystemFacts,
        Terminated as Terminated,
        TimerLimitError as TimerLimitError,
        TurnOverError as TurnOverError,
        TurnTimeoutError as TurnTimeoutError,
        UnhandledMessageError as UnhandledMessageError,
        ZombieActor as ZombieActor,
        current_system as current_system,
        open_system as open_system,
        report_stalls as report_stalls,
    )
    from actors.agents import (
        AGENT_FRAMEWORK_USER_AGENT as AGENT_FRAMEWORK_USER_AGENT,
        EXCLUDE_REASON_KEY as EXCLUDE_REASON_KEY,
        EXCLUDED_KEY as EXCLUDED_KEY,
        GROUP_ANNOTATION_KEY as GROUP_ANNOTATION_KEY,
        GROUP_HAS_REASONING_KEY as GROUP_HAS_REASONING_KEY,
        GROUP_ID_KEY as GROUP_ID_KEY,
        GROUP_INDEX_KEY as GROUP_INDEX_KEY,
        GROUP_KIND_KEY as GROUP_KIND_KEY,
        GROUP_TOKEN_COUNT_KEY as GROUP_TOKEN_COUNT_KEY,
        MESSAGE_INJECTION_PENDING_MESSAGES_STATE_KEY as MESSAGE_INJECTION_PENDING_MESSAGES_STATE_KEY,
        SKIP_PARSING as SKIP_PARSING,
        USER_AGENT_KEY as USER_AGENT_KEY,
        Agent as Agent,
        AgentBuilder as AgentBuilder,
        AgentContext as AgentContext,
        AgentMiddleware as AgentMiddleware,
        AgentMiddlewareLayer as AgentMiddlewareLayer,
        AgentMiddlewareTypes as AgentMiddlewareTypes,
        AgentSession as AgentSession,
        BaseAgent as BaseAgent,
        BaseChatClient as BaseChatClient,
        CharacterEstimatorTokenizer as CharacterEstimatorTokenizer,
        ChatAndFunctionMiddlewareTypes as ChatAndFunctionMiddlewareTypes,
        ChatContext as ChatContext,
        ChatMiddleware as ChatMiddleware,
        ChatMiddlewareLayer as ChatMiddlewareLayer,
        ChatMiddlewareTypes as ChatMiddlewareTypes,
        ChatTelemetryLayer as ChatTelemetryLayer,
        CompactionProvider as CompactionProvider,
        CompactionStrategy as CompactionStrategy,
        ContextProvider as ContextProvider,
        ContextWindowCompactionStrategy as ContextWindowCompactionStrategy,
        EchoChatClient as EchoChatClient,
        FetchProgress as FetchProgress,
        FileHistoryProvider as FileHistoryProvider,
        FileSessionStore as FileSessionStore,
        FunctionalWorkflowAgent as FunctionalWorkflowAgent,
        FunctionInvocationConfiguration as FunctionInvocationConfiguration,
        FunctionInvocationContext as FunctionInvocationContext,
        FunctionInvocationLayer as FunctionInvocationLayer,
        FunctionMiddleware as FunctionMiddleware,
        FunctionMiddlewareTypes as FunctionMiddlewareTypes,
        FunctionTool as FunctionTool,
        HistoryProvider as HistoryProvider,
        InMemoryHistoryProvider as InMemoryHistoryProvider,
        LocalModel as LocalModel,
        MessageGroup as MessageGroup,
        MessageInjectionMiddleware as MessageInjectionMiddleware,
        MiddlewareBundle as MiddlewareBundle,
        MiddlewareType as MiddlewareType,
        MiddlewareTypes as MiddlewareTypes,
        OpenAIChatClient as OpenAIChatClient,
        OpenAIChatCompletionClient as OpenAIChatCompletionClient,
        OptionsCoT as OptionsCoT,
        RawAgent as RawAgent,
        RetryPolicy as RetryPolicy,
        RunRecord as RunRecord,
        RunRecorder as RunRecorder,
        SelectiveToolCallCompactionStrategy as SelectiveToolCallCompactionStrategy,
        ServiceSessionId as ServiceSessionId,
        SessionContext as SessionContext,
        SessionStore as SessionStore,
        SlidingWindowStrategy as SlidingWindowStrategy,
        Slot as Slot,
        SQLiteSessionStore as SQLiteSessionStore,
        StepRecord as StepRecord,
        SummarizationStrategy as SummarizationStrategy,
        TokenBudgetComposedStrategy as TokenBudgetComposedStrategy,
        TokenizerProtocol as TokenizerProtocol,
        ToolResultCompactionStrategy as ToolResultCompactionStrategy,
        ToolsOverJsonSchema as ToolsOverJsonSchema,
        ToolTypes as ToolTypes,
        TruncationStrategy as TruncationStrategy,
        WorkflowAgent as WorkflowAgent,
        agent_middleware as agent_middleware,
        annotate_message_groups as annotate_message_groups,
        apply_compaction as apply_compaction,
        cancel_after_turn as cancel_after_turn,
        chat_middleware as chat_middleware,
        enqueue_messages as enqueue_messages,
        fetch_model as fetch_model,
        function_middleware as function_middleware,
        group_messages as group_messages,
        included_messages as included_messages,
        included_token_count as included_token_count,
        model_path as model_path,
        normalize_function_invocation_configuration as normalize_function_invocation_configuration,
        normalize_tools as normalize_tools,
        open_local_model as open_local_model,
        prepend_agent_framework_to_user_agent as prepend_agent_framework_to_user_agent,
        register_state_type as register_state_type,
        tool as tool,
    )
    from actors.checkpoint import (
        CheckpointFacts as CheckpointFacts,
        CheckpointInfo as CheckpointInfo,
        Commit as Commit,
        FileCheckpointStorage as FileCheckpointStorage,
        InMemoryCheckpointStorage as InMemoryCheckpointStorage,
        JobQueue as JobQueue,
        JobStatus as JobStatus,
        Lease as Lease,
        LogStorage as LogStorage,
        Note as Note,
        Position as Position,
        PostgresCheckpointStorage as PostgresCheckpointStorage,
        PruneReport as PruneReport,
        Retention as Retention,
        RunInfo as RunInfo,
        RunLog as RunLog,
        SQLiteCheckpointStorage as SQLiteCheckpointStorage,
        Stored as Stored,
        keep_every as keep_every,
        keep_last as keep_last,
        open_storage as open_storage,
    )
    from actors.workflows import (
        DEFAULT_MAX_ITERATIONS as DEFAULT_MAX_ITERATIONS,
        INTERNAL_SOURCE_ID as INTERNAL_SOURCE_ID,
        AgentExecutor as AgentExecutor,
        AgentExecutorState as AgentExecutorState,
        AgentHostExecutor as AgentHostExecutor,
        AgentHostState as AgentHostState,
        Case as Case,
        Default as Default,
        Edge as Edge,
        EdgeCondition as EdgeCondition,
        EdgeDuplicationError as EdgeDuplicationError,
        EdgeGroup as EdgeGroup,
        Executor as Executor,
        ExecutorFailure as ExecutorFailure,
        FanInEdgeGroup as FanInEdgeGroup,
        FanOutEdgeGroup as FanOutEdgeGroup,
        FunctionalWorkflow as FunctionalWorkflow,
        FunctionalWorkflowDefinition as FunctionalWorkflowDefinition,
        FunctionExecutor as FunctionExecutor,
        Graph as Graph,
        GraphConnectivityError as GraphConnectivityError,
        GraphMismatchError as GraphMismatchError,
        Happened as Happened,
        IdleTimeoutError as IdleTimeoutError,
        InputTypeError as InputTypeError,
        MapEdgeGroup as MapEdgeGroup,
        OpenRun as OpenRun,
        Repeat as Repeat,
        Replay as Replay,
        RequestInfoMixin as RequestInfoMixin,
        ResetChatSignal as ResetChatSignal,
        RunContext as RunContext,
        RunStream as RunStream,
        Settings as Settings,
        SingleEdgeGroup as SingleEdgeGroup,
        StepWrapper as StepWrapper,
        SubWorkflowRequestMessage as SubWorkflowRequestMessage,
        SubWorkflowResponseMessage as SubWorkflowResponseMessage,
        SwitchCaseEdgeGroup as SwitchCaseEdgeGroup,
        SwitchCaseEdgeGroupCase as SwitchCaseEdgeGroupCase,
        SwitchCaseEdgeGroupDefault as SwitchCaseEdgeGroupDefault,
        SyncWorkflowContext as SyncWorkflowContext,
        TypeCompatibilityError as TypeCompatibilityError,
        UndeclaredTypeError as UndeclaredTypeError,
        Undelivered as Undelivered,
        UnknownOutcomeError as UnknownOutcomeError,
        ValidationTypeEnum as ValidationTypeEnum,
        Worker as Worker,
        WorkerOptions as WorkerOptions,
        Workflow as Workflow,
        WorkflowBuilder as WorkflowBuilder,
        WorkflowContext as WorkflowContext,
        WorkflowExecutor as WorkflowExecutor,
        WorkflowGraphWarning as WorkflowGraphWarning,
        WorkflowInvocationKwargs as WorkflowInvocationKwargs,
        WorkflowRunContext as WorkflowRunContext,
        WorkflowRunResult as WorkflowRunResult,
        WorkflowValidationError as WorkflowValidationError,
        WorkflowViz as WorkflowViz,
        executor as executor,
        gather as gather,
        get_run_context as get_run_context,
        handler as handler,
        quorum as quorum,
        resolve_agent_id as resolve_agent_id,
        response_handler as response_handler,
        step as step,
        validate_workflow_graph as validate_workflow_graph,
        workflow as workflow,
    )
    from protocols import (
        ActorsError as ActorsError,
        AdditionItemMismatch as AdditionItemMismatch,
        AgentContentFilterException as AgentContentFilterException,
        AgentException as AgentException,
        AgentExecutorRequest as AgentExecutorRequest,
        AgentExecutorResponse as AgentExecutorResponse,
        AgentFrameworkException as AgentFrameworkException,
        AgentInvalidAuthException as AgentInvalidAuthException,
        AgentInvalidRequestException as AgentInvalidRequestException,
        AgentInvalidResponseException as AgentInvalidResponseException,
        AgentResponse as AgentResponse,
        AgentResponseUpdate as AgentResponseUpdate,
        AgentRunInputs as AgentRunInputs,
        Annotation as Annotation,
        AnsweredRequestError as AnsweredRequestError,
        ChatClientContentFilterException as ChatClientContentFilterException,
        ChatClientException as ChatClientException,
        ChatClientInvalidAuthException as ChatClientInvalidAuthException,
        ChatClientInvalidRequestException as ChatClientInvalidRequestException,
        ChatClientInvalidResponseException as ChatClientInvalidResponseException,
        ChatOptions as ChatOptions,
        ChatResponse as ChatResponse,
        ChatResponseUpdate as ChatResponseUpdate,
        CheckpointError as CheckpointError,
        CheckpointID as CheckpointID,
        CheckpointIdError as CheckpointIdError,
        CheckpointNotFoundError as CheckpointNotFoundError,
        CheckpointStorage as CheckpointStorage,
        CheckpointVersionError as CheckpointVersionError,
        Codec as Codec,
        CodecError as CodecError,
        Content as Content,
        ContentError as ContentError,
        ContinuationToken as ContinuationToken,
        CorruptCheckpointError as CorruptCheckpointError,
        EdgeConditionError as EdgeConditionError,
        EdgeSelectionError as EdgeSelectionError,
        FinishReason as FinishReason,
        FinishReasonLiteral as FinishReasonLiteral,
        FrozenDict as FrozenDict,
        FrozenList as FrozenList,
        IntegrationContentFilterException as IntegrationContentFilterException,
        IntegrationException as IntegrationException,
        IntegrationInitializationError as IntegrationInitializationError,
        IntegrationInvalidAuthException as IntegrationInvalidAuthException,
        IntegrationInvalidRequestException as IntegrationInvalidRequestException,
        IntegrationInvalidResponseException as IntegrationInvalidResponseException,
        JobStateError as JobStateError,
        LeaseLostError as LeaseLostError,
        LocalModelError as LocalModelError,
        Log as Log,
        Message as Message,
        MessageType as MessageType,
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
        RequestDetails as RequestDetails,
        RequestError as RequestError,
        ResponseTypeError as ResponseTypeError,
        Role as Role,
        RoleLiteral as RoleLiteral,
        SettingNotFoundError as SettingNotFoundError,
        StaleWriterError as StaleWriterError,
        StorageError as StorageError,
        StorageUrlError as StorageUrlError,
        SupportsAgentRun as SupportsAgentRun,
        SupportsChatGetResponse as SupportsChatGetResponse,
        SupportsCodeInterpreterTool as SupportsCodeInterpreterTool,
        SupportsFileSearchTool as SupportsFileSearchTool,
        SupportsImageGenerationTool as SupportsImageGenerationTool,
        SupportsMCPTool as SupportsMCPTool,
        SupportsResponseStream as SupportsResponseStream,
        SupportsShellTool as SupportsShellTool,
        SupportsWebSearchTool as SupportsWebSearchTool,
        TextSpanRegion as TextSpanRegion,
        ToolException as ToolException,
        ToolExecutionException as ToolExecutionException,
        ToolMode as ToolMode,
        TurnToken as TurnToken,
        TypeRegistry as TypeRegistry,
        UnknownRequestError as UnknownRequestError,
        UnknownTagError as UnknownTagError,
        UnregisteredTypeError as UnregisteredTypeError,
        UnsavableTypeError as UnsavableTypeError,
        UsageDetails as UsageDetails,
        UserInputRequiredException as UserInputRequiredException,
        WorkflowCheckpoint as WorkflowCheckpoint,
        WorkflowCheckpointException as WorkflowCheckpointException,
        WorkflowConvergenceException as WorkflowConvergenceException,
        WorkflowErrorDetails as WorkflowErrorDetails,
        WorkflowEvent as WorkflowEvent,
        WorkflowEventSource as WorkflowEventSource,
        WorkflowEventType as WorkflowEventType,
        WorkflowException as WorkflowException,
        WorkflowMessage as WorkflowMessage,
        WorkflowRunnerException as WorkflowRunnerException,
        WorkflowRunState as WorkflowRunState,
        add_usage_details as add_usage_details,
        decode as decode,
        default_codec as default_codec,
        default_registry as default_registry,
        detect_media_type_from_base64 as detect_media_type_from_base64,
        encode as encode,
        map_chat_to_agent_update as map_chat_to_agent_update,
        merge_chat_options as merge_chat_options,
        normalize_messages as normalize_messages,
        prepend_instructions_to_messages as prepend_instructions_to_messages,
        register_checkpoint_type as register_checkpoint_type,
        register_type as register_type,
        validate_tool_mode as validate_tool_mode,
    )

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "actors._core": """
            Actor ActorContext ActorFacts ActorFailed ActorRef ActorRestarted
            ActorRestartingError ActorStarted ActorStopped ActorStoppedError
            AskTimeoutError Backoff Counters Crashed current_system DeadLetter
            DeadlockError ExitReason Finished Killed LeftOpenError MailboxFullError
            MailboxPolicy Missed NameTakenError NotFound open_system OutboxLimitError
            RemoteError report_stalls ResponseStream Restart RestartLimitError ShutDown
            StalledTurn StashLimitError StrayCancelledError Supervision System
            SystemFacts Terminated TimerLimitError TurnOverError TurnTimeoutError
            UnhandledMessageError ZombieActor
        """,
        "actors.agents": """
            Agent AGENT_FRAMEWORK_USER_AGENT agent_middleware AgentBuilder AgentContext
            AgentMiddleware AgentMiddlewareLayer AgentMiddlewareTypes AgentSession
            annotate_message_groups apply_compaction BaseAgent BaseChatClient
            cancel_after_turn CharacterEstimatorTokenizer chat_middleware
            ChatAndFunctionMiddlewareTypes ChatContext ChatMiddleware
            ChatMiddlewareLayer ChatMiddlewareTypes ChatTelemetryLayer
            CompactionProvider CompactionStrategy ContextProvider
            ContextWindowCompactionStrategy EchoChatClient enqueue_messages
            EXCLUDE_REASON_KEY EXCLUDED_KEY fetch_model FetchProgress
            FileHistoryProvider FileSessionStore function_middleware
            FunctionalWorkflowAgent FunctionInvocationConfiguration
            FunctionInvocationContext FunctionInvocationLayer FunctionMiddleware
            FunctionMiddlewareTypes FunctionTool GROUP_ANNOTATION_KEY
            GROUP_HAS_REASONING_KEY GROUP_ID_KEY GROUP_INDEX_KEY GROUP_KIND_KEY
            group_messages GROUP_TOKEN_COUNT_KEY HistoryProvider included_messages
            included_token_count InMemoryHistoryProvider LocalModel
            MESSAGE_INJECTION_PENDING_MESSAGES_STATE_KEY MessageGroup
            MessageInjectionMiddleware MiddlewareBundle MiddlewareType MiddlewareTypes
            model_path normalize_function_invocation_configuration normalize_tools
            open_local_model OpenAIChatClient OpenAIChatCompletionClient OptionsCoT
            prepend_agent_framework_to_user_agent RawAgent register_state_type
            RetryPolicy RunRecord RunRecorder SelectiveToolCallCompactionStrategy
            ServiceSessionId SessionContext SessionStore SKIP_PARSING
            SlidingWindowStrategy Slot SQLiteSessionStore StepRecord
            SummarizationStrategy TokenBudgetComposedStrategy TokenizerProtocol tool
            ToolResultCompactionStrategy ToolsOverJsonSchema ToolTypes
            TruncationStrategy USER_AGENT_KEY WorkflowAgent
        """,
        "actors.checkpoint": """
            CheckpointFacts CheckpointInfo Commit FileCheckpointStorage
            InMemoryCheckpointStorage JobQueue JobStatus keep_every keep_last Lease
            LogStorage Note open_storage Position PostgresCheckpointStorage PruneReport
            Retention RunInfo RunLog SQLiteCheckpointStorage Stored
        """,
        "actors.workflows": """
            AgentExecutor AgentExecutorState AgentHostExecutor AgentHostState Case
            Default DEFAULT_MAX_ITERATIONS Edge EdgeCondition EdgeDuplicationError
            EdgeGroup Executor executor ExecutorFailure FanInEdgeGroup FanOutEdgeGroup
            FunctionalWorkflow FunctionalWorkflowDefinition FunctionExecutor gather
            get_run_context Graph GraphConnectivityError GraphMismatchError handler
            Happened IdleTimeoutError InputTypeError INTERNAL_SOURCE_ID MapEdgeGroup
            OpenRun quorum Repeat Replay RequestInfoMixin ResetChatSignal
            resolve_agent_id response_handler RunContext RunStream Settings
            SingleEdgeGroup step StepWrapper SubWorkflowRequestMessage
            SubWorkflowResponseMessage SwitchCaseEdgeGroup SwitchCaseEdgeGroupCase
            SwitchCaseEdgeGroupDefault SyncWorkflowContext TypeCompatibilityError
            UndeclaredTypeError Undelivered UnknownOutcomeError validate_workflow_graph
            ValidationTypeEnum Worker WorkerOptions Workflow workflow WorkflowBuilder
            WorkflowContext WorkflowExecutor WorkflowGraphWarning
            WorkflowInvocationKwargs WorkflowRunContext WorkflowRunResult
            WorkflowValidationError WorkflowViz
        """,
        "protocols": """
            ActorsError add_usage_details AdditionItemMismatch
            AgentContentFilterException AgentException AgentExecutorRequest
            AgentExecutorResponse AgentFrameworkException AgentInvalidAuthException
            AgentInvalidRequestException AgentInvalidResponseException AgentResponse
            AgentResponseUpdate AgentRunInputs Annotation AnsweredRequestError
            ChatClientContentFilterException ChatClientException
            ChatClientInvalidAuthException ChatClientInvalidRequestException
            ChatClientInvalidResponseException ChatOptions ChatResponse
            ChatResponseUpdate CheckpointError CheckpointID CheckpointIdError
            CheckpointNotFoundError CheckpointStorage CheckpointVersionError Codec
            CodecError Content ContentError ContinuationToken CorruptCheckpointError
            decode default_codec default_registry detect_media_type_from_base64
            EdgeConditionError EdgeSelectionError encode FinishReason
            FinishReasonLiteral FrozenDict FrozenList IntegrationContentFilterException
            IntegrationException IntegrationInitializationError
            IntegrationInvalidAuthException IntegrationInvalidRequestException
            IntegrationInvalidResponseException JobStateError LeaseLostError
            LocalModelError Log map_chat_to_agent_update merge_chat_options Message
            MessageType MiddlewareException MiddlewareFailure MiddlewareTermination
            ModelAuthError ModelConnectionError ModelContentFilterError ModelError
            ModelFileError ModelHashError ModelRateLimitError ModelRequestError
            ModelResponseError ModelServerError ModelTimeoutError normalize_messages
            prepend_instructions_to_messages register_checkpoint_type register_type
            RequestDetails RequestError ResponseTypeError Role RoleLiteral
            SettingNotFoundError StaleWriterError StorageError StorageUrlError
            SupportsAgentRun SupportsChatGetResponse SupportsCodeInterpreterTool
            SupportsFileSearchTool SupportsImageGenerationTool SupportsMCPTool
            SupportsResponseStream SupportsShellTool SupportsWebSearchTool
            TextSpanRegion ToolException ToolExecutionException ToolMode TurnToken
            TypeRegistry UnknownRequestError UnknownTagError UnregisteredTypeError
            UnsavableTypeError UsageDetails UserInputRequiredException
            validate_tool_mode WorkflowCheckpoint WorkflowCheckpointException
            WorkflowConvergenceException WorkflowErrorDetails WorkflowEvent
            WorkflowEventSource WorkflowEventType WorkflowException WorkflowMessage
            WorkflowRunnerException WorkflowRunState
        """,
    },
)
