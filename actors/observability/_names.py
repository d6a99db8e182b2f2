"""The names of attributes, spans and metrics, as the GenAI conventions and MAF have them."""

from __future__ import annotations

import enum


class OtelAttr(enum.StrEnum):
    """Names of attributes; as text it is the name itself."""

    OPERATION = "gen_ai.operation.name"
    PROVIDER_NAME = "gen_ai.provider.name"
    REQUEST_MODEL = "gen_ai.request.model"
    REQUEST_MAX_TOKENS = "gen_ai.request.max_tokens"
    REQUEST_TEMPERATURE = "gen_ai.request.temperature"
    REQUEST_TOP_P = "gen_ai.request.top_p"
    REQUEST_TOP_K = "gen_ai.request.top_k"
    REQUEST_FREQUENCY_PENALTY = "gen_ai.request.frequency_penalty"
    REQUEST_PRESENCE_PENALTY = "gen_ai.request.presence_penalty"
    REQUEST_STOP_SEQUENCES = "gen_ai.request.stop_sequences"
    REQUEST_SEED = "gen_ai.request.seed"
    REQUEST_CHOICE_COUNT = "gen_ai.request.choice.count"
    ADDRESS = "server.address"
    RESPONSE_ID = "gen_ai.response.id"
    RESPONSE_MODEL = "gen_ai.response.model"
    FINISH_REASONS = "gen_ai.response.finish_reasons"
    INPUT_TOKENS = "gen_ai.usage.input_tokens"
    OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
    CACHE_CREATION_INPUT_TOKENS = "gen_ai.usage.cache_creation.input_tokens"
    CACHE_READ_INPUT_TOKENS = "gen_ai.usage.cache_read.input_tokens"
    REASONING_OUTPUT_TOKENS = "gen_ai.usage.reasoning.output_tokens"
    AGENT_ID = "gen_ai.agent.id"
    AGENT_NAME = "gen_ai.agent.name"
    AGENT_DESCRIPTION = "gen_ai.agent.description"
    CONVERSATION_ID = "gen_ai.conversation.id"
    TOOL_NAME = "gen_ai.tool.name"
    TOOL_CALL_ID = "gen_ai.tool.call.id"
    TOOL_TYPE = "gen_ai.tool.type"
    TOOL_DESCRIPTION = "gen_ai.tool.description"
    TOOL_DEFINITIONS = "gen_ai.tool.definitions"
    TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
    TOOL_RESULT = "gen_ai.tool.call.result"
    INPUT_MESSAGES = "gen_ai.input.messages"
    OUTPUT_MESSAGES = "gen_ai.output.messages"
    SYSTEM_INSTRUCTIONS = "gen_ai.system_instructions"
    TOKEN_TYPE = "gen_ai.token.type"  # noqa: S105 (of a language model)
    ERROR_TYPE = "error.type"
    EVENT_NAME = "event.name"
    WORKFLOW_ID = "workflow.id"
    WORKFLOW_NAME = "workflow.name"
    WORKFLOW_DESCRIPTION = "workflow.description"
    WORKFLOW_RUN_SPAN = "workflow.run"
    EXECUTOR_ID = "executor.id"
    EXECUTOR_TYPE = "executor.type"
    EXECUTOR_ATTEMPT = "executor.attempt"
    EXECUTOR_PROCESS_SPAN = "executor.process"
    EDGE_GROUP_ID = "edge_group.id"
    EDGE_GROUP_TYPE = "edge_group.type"
    EDGE_GROUP_DELIVERED = "edge_group.delivered"
    EDGE_GROUP_DELIVERY_STATUS = "edge_group.delivery_status"
    EDGE_GROUP_PROCESS_SPAN = "edge_group.process"
    MESSAGE_TYPE = "message.type"
    MESSAGE_PAYLOAD_TYPE = "message.payload_type"
    MESSAGE_SOURCE_ID = "message.source_id"
    MESSAGE_TARGET_ID = "message.target_id"
    MESSAGE_DESTINATION_EXECUTOR_ID = "message.destination_executor_id"
    MESSAGE_SEND_SPAN = "message.send"
    ACTOR_NAME = "actor.name"
    ACTOR_TYPE = "actor.type"
    ACTOR_PROCESS_SPAN = "actor.process"

    AGENT_INVOKE_OPERATION = "invoke_agent"
    CHAT_COMPLETION_OPERATION = "chat"
    TOOL_EXECUTION_OPERATION = "execute_tool"

    OPERATION_DURATION = "gen_ai.client.operation.duration"
    TOKEN_USAGE = "gen_ai.client.token.usage"  # noqa: S105 (as above)
    FUNCTION_DURATION = "agent_framework.function.invocation.duration"

    def __str__(self) -> str:
        return self.value

    def __repr__(self) -> str:
        return self.value
