"""Agents: the pipeline from an agent to a model, and the clients that reach one."""

from typing import TYPE_CHECKING

from protocols._lazy import lazy_names

if TYPE_CHECKING:
    from actors.agents._agent._agent import (
        Agent as Agent,
        RawAgent as RawAgent,
    )
    from actors.agents._agent._base import (
        BaseAgent as BaseAgent,
    )
    from actors.agents._agent._context import (
        ContextProvider as ContextProvider,
        SessionContext as SessionContext,
    )
    from actors.agents._client._base import (
        BaseChatClient as BaseChatClient,
        ChatMiddlewareLayer as ChatMiddlewareLayer,
        ChatTelemetryLayer as ChatTelemetryLayer,
        FunctionInvocationLayer as FunctionInvocationLayer,
        OptionsCoT as OptionsCoT,
    )
    from actors.agents._client._echo import (
        EchoChatClient as EchoChatClient,
    )
    from actors.agents._client._function_config import (
        FunctionInvocationConfiguration as FunctionInvocationConfiguration,
        normalize_function_invocation_configuration as normalize_function_invocation_configuration,
    )
    from actors.agents._client._retry import (
        RetryPolicy as RetryPolicy,
    )
    from actors.agents._client._user_agent import (
        AGENT_FRAMEWORK_USER_AGENT as AGENT_FRAMEWORK_USER_AGENT,
        USER_AGENT_KEY as USER_AGENT_KEY,
        prepend_agent_framework_to_user_agent as prepend_agent_framework_to_user_agent,
    )
    from actors.agents._compaction._annotations import (
        GROUP_ANNOTATION_KEY as GROUP_ANNOTATION_KEY,
        GROUP_HAS_REASONING_KEY as GROUP_HAS_REASONING_KEY,
        GROUP_ID_KEY as GROUP_ID_KEY,
        GROUP_INDEX_KEY as GROUP_INDEX_KEY,
        GROUP_KIND_KEY as GROUP_KIND_KEY,
        GROUP_TOKEN_COUNT_KEY as GROUP_TOKEN_COUNT_KEY,
        annotate_message_groups as annotate_message_groups,
    )
    from actors.agents._compaction._apply import (
        CompactionProvider as CompactionProvider,
        apply_compaction as apply_compaction,
    )
    from actors.agents._compaction._groups import (
        EXCLUDE_REASON_KEY as EXCLUDE_REASON_KEY,
        EXCLUDED_KEY as EXCLUDED_KEY,
        MessageGroup as MessageGroup,
        group_messages as group_messages,
        included_messages as included_messages,
    )
    from actors.agents._compaction._strategies import (
        CompactionStrategy as CompactionStrategy,
        SelectiveToolCallCompactionStrategy as SelectiveToolCallCompactionStrategy,
        SlidingWindowStrategy as SlidingWindowStrategy,
        TokenBudgetComposedStrategy as TokenBudgetComposedStrategy,
        ToolResultCompactionStrategy as ToolResultCompactionStrategy,
        TruncationStrategy as TruncationStrategy,
    )
    from actors.agents._compaction._summarize import (
        SummarizationStrategy as SummarizationStrategy,
    )
    from actors.agents._compaction._tokens import (
        CharacterEstimatorTokenizer as CharacterEstimatorTokenizer,
        TokenizerProtocol as TokenizerProtocol,
        included_token_count as included_token_count,
    )
    from actors.agents._compaction._window import (
        ContextWindowCompactionStrategy as ContextWindowCompactionStrategy,
    )
    from actors.agents._injection import (
        MESSAGE_INJECTION_PENDING_MESSAGES_STATE_KEY as MESSAGE_INJECTION_PENDING_MESSAGES_STATE_KEY,
        MessageInjectionMiddleware as MessageInjectionMiddleware,
        enqueue_messages as enqueue_messages,
    )
    from actors.agents._local._files import (
        FetchProgress as FetchProgress,
        fetch_model as fetch_model,
        model_path as model_path,
    )
    from actors.agents._local._local_model import (
        LocalModel as LocalModel,
        Slot as Slot,
        open_local_model as open_local_model,
    )
    from actors.agents._loop._ending import (
        cancel_after_turn as cancel_after_turn,
    )
    from actors.agents._middleware._builder import (
        AgentBuilder as AgentBuilder,
    )
    from actors.agents._middleware._contexts import (
        AgentContext as AgentContext,
        ChatContext as ChatContext,
        FunctionInvocationContext as FunctionInvocationContext,
    )
    from actors.agents._middleware._kinds import (
        AgentMiddleware as AgentMiddleware,
        AgentMiddlewareTypes as AgentMiddlewareTypes,
        ChatAndFunctionMiddlewareTypes as ChatAndFunctionMiddlewareTypes,
        ChatMiddleware as ChatMiddleware,
        ChatMiddlewareTypes as ChatMiddlewareTypes,
        FunctionMiddleware as FunctionMiddleware,
        FunctionMiddlewareTypes as FunctionMiddlewareTypes,
        MiddlewareBundle as MiddlewareBundle,
        MiddlewareType as MiddlewareType,
        MiddlewareTypes as MiddlewareTypes,
        agent_middleware as agent_middleware,
        chat_middleware as chat_middleware,
        function_middleware as function_middleware,
    )
    from actors.agents._middleware._layer import (
        AgentMiddlewareLayer as AgentMiddlewareLayer,
    )
    from actors.agents._middleware._recorder import (
        RunRecord as RunRecord,
        RunRecorder as RunRecorder,
        StepRecord as StepRecord,
    )
    from actors.agents._of_workflows._functional_agent import (
        FunctionalWorkflowAgent as FunctionalWorkflowAgent,
    )
    from actors.agents._of_workflows._workflow_agent import (
        WorkflowAgent as WorkflowAgent,
    )
    from actors.agents._openai._client import (
        OpenAIChatCompletionClient as OpenAIChatCompletionClient,
    )
    from actors.agents._openai._responses_client import (
        OpenAIChatClient as OpenAIChatClient,
    )
    from actors.agents._sessions._file_history import (
        FileHistoryProvider as FileHistoryProvider,
    )
    from actors.agents._sessions._history import (
        HistoryProvider as HistoryProvider,
        InMemoryHistoryProvider as InMemoryHistoryProvider,
    )
    from actors.agents._sessions._session import (
        AgentSession as AgentSession,
        ServiceSessionId as ServiceSessionId,
    )
    from actors.agents._sessions._state_codec import (
        register_state_type as register_state_type,
    )
    from actors.agents._sessions._store import (
        FileSessionStore as FileSessionStore,
        SessionStore as SessionStore,
        SQLiteSessionStore as SQLiteSessionStore,
    )
    from actors.agents._tools._collection import (
        ToolTypes as ToolTypes,
        normalize_tools as normalize_tools,
    )
    from actors.agents._tools._decorator import (
        tool as tool,
    )
    from actors.agents._tools._function_tool import (
        FunctionTool as FunctionTool,
    )
    from actors.agents._tools._over_schema import (
        ToolsOverJsonSchema as ToolsOverJsonSchema,
    )
    from actors.agents._tools._results import (
        SKIP_PARSING as SKIP_PARSING,
    )

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "actors.agents._agent._agent": """
            Agent RawAgent
        """,
        "actors.agents._agent._base": """
            BaseAgent
        """,
        "actors.agents._agent._context": """
            ContextProvider SessionContext
        """,
        "actors.agents._client._base": """
            BaseChatClient ChatMiddlewareLayer ChatTelemetryLayer
            FunctionInvocationLayer OptionsCoT
        """,
        "actors.agents._client._echo": """
            EchoChatClient
        """,
        "actors.agents._client._function_config": """
            FunctionInvocationConfiguration normalize_function_invocation_configuration
        """,
        "actors.agents._client._retry": """
            RetryPolicy
        """,
        "actors.agents._client._user_agent": """
            AGENT_FRAMEWORK_USER_AGENT prepend_agent_framework_to_user_agent
            USER_AGENT_KEY
        """,
        "actors.agents._compaction._annotations": """
            annotate_message_groups GROUP_ANNOTATION_KEY GROUP_HAS_REASONING_KEY
            GROUP_ID_KEY GROUP_INDEX_KEY GROUP_KIND_KEY GROUP_TOKEN_COUNT_KEY
        """,
        "actors.agents._compaction._apply": """
            apply_compaction CompactionProvider
        """,
        "actors.agents._compaction._groups": """
            EXCLUDE_REASON_KEY EXCLUDED_KEY group_messages included_messages
            MessageGroup
        """,
        "actors.agents._compaction._strategies": """
            CompactionStrategy SelectiveToolCallCompactionStrategy SlidingWindowStrategy
            TokenBudgetComposedStrategy ToolResultCompactionStrategy TruncationStrategy
        """,
        "actors.agents._compaction._summarize": """
            SummarizationStrategy
        """,
        "actors.agents._compaction._tokens": """
            CharacterEstimatorTokenizer included_token_count TokenizerProtocol
        """,
        "actors.agents._compaction._window": """
            ContextWindowCompactionStrategy
        """,
        "actors.agents._injection": """
            enqueue_messages MESSAGE_INJECTION_PENDING_MESSAGES_STATE_KEY
            MessageInjectionMiddleware
        """,
        "actors.agents._local._files": """
            fetch_model FetchProgress model_path
        """,
        "actors.agents._local._local_model": """
            LocalModel open_local_model Slot
        """,
        "actors.agents._loop._ending": """
            cancel_after_turn
        """,
        "actors.agents._middleware._builder": """
            AgentBuilder
        """,
        "actors.agents._middleware._contexts": """
            AgentContext ChatContext FunctionInvocationContext
        """,
        "actors.agents._middleware._kinds": """
            agent_middleware AgentMiddleware AgentMiddlewareTypes chat_middleware
            ChatAndFunctionMiddlewareTypes ChatMiddleware ChatMiddlewareTypes
            function_middleware FunctionMiddleware FunctionMiddlewareTypes
            MiddlewareBundle MiddlewareType MiddlewareTypes
        """,
        "actors.agents._middleware._layer": """
            AgentMiddlewareLayer
        """,
        "actors.agents._middleware._recorder": """
            RunRecord RunRecorder StepRecord
        """,
        "actors.agents._of_workflows._functional_agent": """
            FunctionalWorkflowAgent
        """,
        "actors.agents._of_workflows._workflow_agent": """
            WorkflowAgent
        """,
        "actors.agents._openai._client": """
            OpenAIChatCompletionClient
        """,
        "actors.agents._openai._responses_client": """
            OpenAIChatClient
        """,
        "actors.agents._sessions._file_history": """
            FileHistoryProvider
        """,
        "actors.agents._sessions._history": """
            HistoryProvider InMemoryHistoryProvider
        """,
        "actors.agents._sessions._session": """
            AgentSession ServiceSessionId
        """,
        "actors.agents._sessions._state_codec": """
            register_state_type
        """,
        "actors.agents._sessions._store": """
            FileSessionStore SessionStore SQLiteSessionStore
        """,
        "actors.agents._tools._collection": """
            normalize_tools ToolTypes
        """,
        "actors.agents._tools._decorator": """
            tool
        """,
        "actors.agents._tools._function_tool": """
            FunctionTool
        """,
        "actors.agents._tools._over_schema": """
            ToolsOverJsonSchema
        """,
        "actors.agents._tools._results": """
            SKIP_PARSING
        """,
    },
)
