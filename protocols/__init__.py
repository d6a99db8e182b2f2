"""What is said between actors: messages, events, interfaces, errors, codec.

Pure vocabulary: nothing in here waits, reads a clock or does I/O.
"""

from typing import TYPE_CHECKING

from protocols._lazy import lazy_names

if TYPE_CHECKING:
    from protocols._agents import (
        AgentExecutorRequest as AgentExecutorRequest,
        AgentExecutorResponse as AgentExecutorResponse,
        TurnToken as TurnToken,
    )
    from protocols._checkpoint_errors import (
        CheckpointError as CheckpointError,
        CheckpointIdError as CheckpointIdError,
        CheckpointNotFoundError as CheckpointNotFoundError,
        CheckpointVersionError as CheckpointVersionError,
        CorruptCheckpointError as CorruptCheckpointError,
        JobStateError as JobStateError,
        LeaseLostError as LeaseLostError,
        StaleWriterError as StaleWriterError,
        StorageError as StorageError,
        StorageUrlError as StorageUrlError,
        UnsavableTypeError as UnsavableTypeError,
    )
    from protocols._checkpoints import (
        EXECUTOR_STATE_KEY as EXECUTOR_STATE_KEY,
        CheckpointID as CheckpointID,
        CheckpointStorage as CheckpointStorage,
        WorkflowCheckpoint as WorkflowCheckpoint,
    )
    from protocols._codec._codec import (
        Codec as Codec,
        decode as decode,
        default_codec as default_codec,
        encode as encode,
    )
    from protocols._codec._declaring import (
        declare_types as declare_types,
        register_checkpoint_type as register_checkpoint_type,
    )
    from protocols._codec._tags import (
        TypeRegistry as TypeRegistry,
        default_registry as default_registry,
        register_type as register_type,
    )
    from protocols._content._fields import (
        Annotation as Annotation,
        TextSpanRegion as TextSpanRegion,
    )
    from protocols._content._item import (
        Content as Content,
    )
    from protocols._content._media_types import (
        detect_media_type_from_base64 as detect_media_type_from_base64,
    )
    from protocols._effects import (
        Effect as Effect,
        EffectEntry as EffectEntry,
        EffectRecorder as EffectRecorder,
        current_effects as current_effects,
        current_idempotency_key as current_idempotency_key,
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
        AnsweredRequestError as AnsweredRequestError,
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
        MiddlewareException as MiddlewareException,
        MiddlewareFailure as MiddlewareFailure,
        MiddlewareTermination as MiddlewareTermination,
        RequestError as RequestError,
        ResponseTypeError as ResponseTypeError,
        SettingNotFoundError as SettingNotFoundError,
        ToolException as ToolException,
        ToolExecutionException as ToolExecutionException,
        UnknownRequestError as UnknownRequestError,
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
        WorkflowEventType as WorkflowEventType,
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
    from protocols._message import (
        AgentRunInputs as AgentRunInputs,
        Message as Message,
        Role as Role,
        RoleLiteral as RoleLiteral,
        normalize_messages as normalize_messages,
        prepend_instructions_to_messages as prepend_instructions_to_messages,
    )
    from protocols._model_errors import (
        LocalModelError as LocalModelError,
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
    )
    from protocols._options import (
        ChatOptions as ChatOptions,
        ContinuationToken as ContinuationToken,
        FinishReason as FinishReason,
        FinishReasonLiteral as FinishReasonLiteral,
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
    from protocols._usage import (
        UsageDetails as UsageDetails,
        add_usage_details as add_usage_details,
    )

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "protocols._agents": """
            AgentExecutorRequest AgentExecutorResponse TurnToken
        """,
        "protocols._checkpoint_errors": """
            CheckpointError CheckpointIdError CheckpointNotFoundError
            CheckpointVersionError CorruptCheckpointError JobStateError LeaseLostError
            StaleWriterError StorageError StorageUrlError UnsavableTypeError
        """,
        "protocols._checkpoints": """
            CheckpointID CheckpointStorage EXECUTOR_STATE_KEY WorkflowCheckpoint
        """,
        "protocols._codec._codec": """
            Codec decode default_codec encode
        """,
        "protocols._codec._declaring": """
            declare_types register_checkpoint_type
        """,
        "protocols._codec._tags": """
            default_registry register_type TypeRegistry
        """,
        "protocols._content._fields": """
            Annotation TextSpanRegion
        """,
        "protocols._content._item": """
            Content
        """,
        "protocols._content._media_types": """
            detect_media_type_from_base64
        """,
        "protocols._effects": """
            current_effects current_idempotency_key Effect EffectEntry EffectRecorder
        """,
        "protocols._errors": """
            ActorsError AdditionItemMismatch AgentContentFilterException
            AgentException AgentFrameworkException AgentInvalidAuthException
            AgentInvalidRequestException AgentInvalidResponseException
            AnsweredRequestError ChatClientContentFilterException
            ChatClientException ChatClientInvalidAuthException
            ChatClientInvalidRequestException
            ChatClientInvalidResponseException CodecError ContentError
            EdgeConditionError EdgeSelectionError
            IntegrationContentFilterException IntegrationException
            IntegrationInitializationError IntegrationInvalidAuthException
            IntegrationInvalidRequestException
            IntegrationInvalidResponseException MiddlewareException
            MiddlewareFailure MiddlewareTermination RequestError
            ResponseTypeError SettingNotFoundError ToolException
            ToolExecutionException UnknownRequestError UnknownTagError
            UnregisteredTypeError UserInputRequiredException
            WorkflowCheckpointException WorkflowConvergenceException
            WorkflowException WorkflowRunnerException
        """,
        "protocols._events": """
            MessageType RequestDetails WorkflowErrorDetails WorkflowEvent
            WorkflowEventSource WorkflowEventType WorkflowMessage WorkflowRunState
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
        "protocols._message": """
            AgentRunInputs Message normalize_messages prepend_instructions_to_messages
            Role RoleLiteral
        """,
        "protocols._model_errors": """
            LocalModelError ModelAuthError ModelConnectionError
            ModelContentFilterError ModelError ModelFileError ModelHashError
            ModelRateLimitError ModelRequestError ModelResponseError
            ModelServerError ModelTimeoutError
        """,
        "protocols._options": """
            ChatOptions ContinuationToken FinishReason FinishReasonLiteral
            merge_chat_options ToolMode validate_tool_mode
        """,
        "protocols._responses": """
            AgentResponse AgentResponseUpdate ChatResponse ChatResponseUpdate
            map_chat_to_agent_update
        """,
        "protocols._usage": """
            add_usage_details UsageDetails
        """,
    },
)
