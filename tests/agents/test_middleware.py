"""Middleware stands around runs, model calls and tool calls: one order, one composer."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import trio

import actors
from actors.agents._agent._agent import Agent, RawAgent
from actors.agents._agent._context import ContextProvider, SessionContext
from actors.agents._middleware._contexts import (
    AgentContext,
    ChatContext,
    FunctionInvocationContext,
)
from actors.agents._middleware._kinds import (
    AgentMiddleware,
    ChatMiddleware,
    FunctionMiddleware,
    MiddlewareBundle,
    MiddlewareType,
    agent_middleware,
    categorize,
    chat_middleware,
    function_middleware,
    kind_of,
)
from actors.agents._tools._decorator import tool
from actors.testing._scripted import ScriptedAgent, ScriptedChatClient
from protocols._content._item import Content
from protocols._errors import MiddlewareException, MiddlewareFailure, MiddlewareTermination
from protocols._message import Message
from protocols._responses import (
    AgentResponse,
    AgentResponseUpdate,
    ChatResponse,
    ChatResponseUpdate,
)

Next = Callable[[], Awaitable[None]]
both = pytest.mark.parametrize("way", ["whole", "stream"])


async def run(agent: Any, way: str, *args: Any, **kwargs: Any) -> AgentResponse[Any]:
    """Run an agent, at once or as a stream: both must come to the same."""
    if way == "stream":
        final = await agent.run(*args, stream=True, **kwargs).get_final_response()
    else:
        final = await agent.run(*args, **kwargs)
    assert isinstance(final, AgentResponse)
    return final


def call(call_id: str, name: str, arguments: Any = "{}") -> Content:
    return Content.from_function_call(call_id, name, arguments=arguments)


class Around:
    """A middleware of each kind that logs its coming and going."""

    def __init__(self, name: str, log: list[str]) -> None:
        async def chat(context: ChatContext, call_next: Next) -> None:
            log.append(f"{name}(c)")
            await call_next()
            log.append(f"/{name}(c)")

        async def function(context: FunctionInvocationContext, call_next: Next) -> None:
            log.append(f"{name}(f)")
            await call_next()
            log.append(f"/{name}(f)")

        async def agent(context: AgentContext, call_next: Next) -> None:
            log.append(f"{name}(a)")
            await call_next()
            log.append(f"/{name}(a)")

        self.chat, self.function, self.agent = chat, function, agent
        self.client_kinds = [chat, function]
        self.all = [chat, agent, function]


class Adds(ContextProvider):
    def __init__(self, middleware: Any) -> None:
        super().__init__("prov")
        self.middleware = middleware

    async def before_run(self, *, context: SessionContext, **_: Any) -> None:
        context.extend_middleware(self, self.middleware)


@tool
def safe() -> str:
    """Do nothing."""
    return "done"


# ----------------------------------------------------------------------------- the order


@both
async def test_middleware_of_all_levels_nests_in_one_order(way: str) -> None:
    """TV9: client, agent, run, provider, from the outside in, around each call."""
    log: list[str] = []
    cli, ag, of_run, prov = (Around(name, log) for name in ("cli", "ag", "run", "prov"))
    client: ScriptedChatClient[Any] = ScriptedChatClient(
        call("c1", "safe"), "end", middleware=cli.client_kinds
    )
    agent = Agent(
        client, tools=[safe], middleware=ag.all, context_providers=[Adds(prov.client_kinds)]
    )
    await run(agent, way, "hi", middleware=of_run.all)

    def around(kind: str) -> list[str]:
        names = [f"{name}({kind})" for name in ("cli", "ag", "run", "prov")]
        return [*names, *(f"/{name}" for name in reversed(names))]

    entered = [one for one in log if not one.startswith("/")]
    assert entered == [
        "ag(a)", "run(a)",
        *["cli(c)", "ag(c)", "run(c)", "prov(c)"],
        *["cli(f)", "ag(f)", "run(f)", "prov(f)"],
        *["cli(c)", "ag(c)", "run(c)", "prov(c)"],
    ]  # fmt: skip
    if way == "whole":
        assert log == [
            "ag(a)", "run(a)", *around("c"), *around("f"), *around("c"), "/run(a)", "/ag(a)",
        ]  # fmt: skip


@both
async def test_middleware_in_client_kwargs_comes_after_the_runs_own(way: str) -> None:
    """P17: it is added, and takes nobody's place."""
    log: list[str] = []
    client: ScriptedChatClient[Any] = ScriptedChatClient("a")
    agent = Agent(client, middleware=Around("ag", log).chat)
    further = {"middleware": [Around("kw", log).chat], "extra": 1}
    await run(agent, way, "hi", client_kwargs=further)
    assert log[:2] == ["ag(c)", "kw(c)"]
    assert client.seen[0].kwargs == {"extra": 1}


async def test_the_agents_middleware_is_read_again_for_each_run() -> None:
    """P14."""
    log: list[str] = []
    agent = Agent(ScriptedChatClient("a", "b"))
    await agent.run("hi")
    agent.middleware.append(Around("late", log).agent)
    await agent.run("hi")
    assert log == ["late(a)", "/late(a)"]


@both
async def test_a_chain_can_be_gone_through_several_times(way: str) -> None:
    """P2: each call_next() does everything below again."""

    async def twice(context: AgentContext, call_next: Next) -> None:
        await call_next()
        context.messages = [*context.messages, Message("user", ["again"])]
        await call_next()

    client: ScriptedChatClient[Any] = ScriptedChatClient("a", "b")
    final = await run(Agent(client, middleware=twice), way, "hi")
    if way == "whole":
        assert [one.texts for one in client.seen] == [["hi"], ["hi", "again"]]
        assert final.text == "b"
    else:  # the first stream was never pulled
        assert [one.texts for one in client.seen] == [["hi", "again"]]


@both
async def test_agent_middleware_changes_what_the_run_works_with(way: str) -> None:
    """P5."""

    async def changes(context: AgentContext, call_next: Next) -> None:
        context.messages = [Message("user", ["other"])]
        context.options = {"temperature": 1}
        context.tools = [safe]
        context.client_kwargs = {"k": 1}
        context.function_invocation_kwargs = {"f": 1}
        context.metadata["seen"] = context.kwargs
        await call_next()

    client: ScriptedChatClient[Any] = ScriptedChatClient("a")
    await run(Agent(client, middleware=changes), way, "hi")
    (seen,) = client.seen
    assert (seen.texts, seen.kwargs) == (["other"], {"k": 1})
    assert seen.options["temperature"] == 1
    assert seen.options["tools"] == [safe]


@both
async def test_chat_middleware_sees_and_changes_each_model_call(way: str) -> None:
    seen: list[Any] = []

    async def changes(context: ChatContext, call_next: Next) -> None:
        seen.append((context.stream, context.session, dict(context.function_invocation_kwargs)))
        context.messages = [*context.messages, Message("user", ["more"])]
        context.options["top_p"] = 0.5
        context.kwargs["k"] = 1
        await call_next()

    client: ScriptedChatClient[Any] = ScriptedChatClient(call("c1", "safe"), "b")
    agent = Agent(client, middleware=changes, tools=safe)
    session = agent.create_session()
    await run(agent, way, "hi", session=session, function_invocation_kwargs={"f": 1})
    assert seen == [(way == "stream", session, {"f": 1})] * 2  # P8
    assert [one.texts[-1] for one in client.seen] == ["more", "more"]
    # What one call was given for itself alone is not there in the next.
    assert len(client.seen[1].messages) == 4
    assert client.seen[0].options["top_p"] == 0.5
    assert client.seen[0].kwargs == {"k": 1}


# -------------------------------------------------------------- the matrix (case D9)

SAID = "replaced"


def whole(cls: type[Any]) -> Any:
    return cls(messages=[Message("assistant", [SAID])], usage_details={"input_token_count": 1})


def streamed(cls: type[Any], update: type[Any]) -> Any:
    async def updates() -> Any:
        await trio.lowlevel.checkpoint()
        yield update(contents=["repl"], role="assistant")
        yield update(contents=["aced"], role="assistant")

    return actors.ResponseStream(updates(), finalizer=cls.from_updates)


ACTS = ["passes", "wraps", "replaces whole", "replaces stream", "skips whole", "skips stream",
        "terminates whole", "terminates stream", "terminates with result"]  # fmt: skip


def acting(  # noqa: C901 (a table of acts)
    act: str, context_type: Any, cls: type[Any], update: type[Any]
) -> Any:
    """A middleware that does one of the ACTS."""

    def upper(one: Any) -> Any:
        texts = [Content.from_text(SAID) for item in one.contents if item.type == "text"]
        return type(one)(contents=texts, role=one.role)

    async def middleware(context: Any, call_next: Next) -> None:
        if not act.startswith(("skips", "terminates")):
            await call_next()
        if act == "wraps":
            if context.stream:
                context.result = context.result.map(upper, cls.from_updates)
            else:
                context.result = whole(cls)
        if act.endswith("whole"):
            context.result = whole(cls)
        if act.endswith("stream"):
            context.result = streamed(cls, update)
        if act == "terminates with result":
            raise MiddlewareTermination(result=whole(cls))
        if act.startswith("terminates"):
            raise MiddlewareTermination

    middleware.__annotations__["context"] = context_type
    return middleware


@both
@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("kind", ["agent", "chat"])
@pytest.mark.parametrize("level", ["own", "run", "builder"])
async def test_whatever_middleware_does_the_caller_gets_what_was_asked_for(
    level: str, kind: str, act: str, way: str
) -> None:
    """Case D9 of the list: a stream stays a stream, a response a response, equal in the end."""
    types = {
        "agent": (AgentContext, AgentResponse, AgentResponseUpdate),
        "chat": (ChatContext, ChatResponse, ChatResponseUpdate),
    }
    middleware = acting(act, *types[kind])
    client: ScriptedChatClient[Any] = ScriptedChatClient("plain")
    own = [middleware] if level == "own" else None
    agent: Any = Agent(client, name="A", middleware=own)
    if level == "builder":
        agent = agent.as_builder().use(middleware).build()
    kwargs = {"middleware": middleware} if level == "run" else {}
    if way == "stream":
        stream = agent.run("hi", stream=True, **kwargs)
        texts = "".join([update.text async for update in stream])
        final = await stream.get_final_response()
        assert texts == final.text
    else:
        final = await agent.run("hi", **kwargs)
    assert isinstance(final, AgentResponse)
    assert final.text == ("plain" if act == "passes" else SAID)
    called = 0 if act.startswith(("skips", "terminates")) else 1
    if (way, kind) == ("stream", "agent") and act.startswith("replaces"):
        called = 0  # a stream that nobody pulls asks nobody
    assert len(client.seen) == called


@both
@pytest.mark.parametrize("kind", [AgentContext, ChatContext])
@pytest.mark.parametrize("terminates", [True, False])
async def test_middleware_that_leaves_nothing_is_an_error_that_names_it(
    kind: Any, terminates: bool, way: str
) -> None:
    """P10: never None."""

    async def careless(context: Any, call_next: Next) -> None:
        if terminates:
            raise MiddlewareTermination

    careless.__annotations__["context"] = kind
    with pytest.raises(MiddlewareException, match="careless left nothing as the result"):
        await run(Agent(ScriptedChatClient("a"), middleware=careless), way, "hi")


@both
@pytest.mark.parametrize("kind", [AgentContext, ChatContext])
@pytest.mark.parametrize("result", ["text", 7, Message("assistant", ["a message"])], ids=repr)
async def test_what_is_no_response_is_an_error_that_names_the_middleware(
    kind: Any, result: Any, way: str
) -> None:
    """Case D9 of the list: streamed or not, the caller never gets another type."""

    async def wrong(context: Any, call_next: Next) -> None:
        context.result = result

    wrong.__annotations__["context"] = kind
    with pytest.raises(MiddlewareException, match=r"wrong the result was .*context.result has"):
        await run(Agent(ScriptedChatClient("a"), middleware=wrong), way, "hi")


@both
@pytest.mark.parametrize("kind", [AgentContext, ChatContext])
async def test_an_exception_of_middleware_reaches_the_caller(kind: Any, way: str) -> None:
    """P4."""

    async def failing(context: Any, call_next: Next) -> None:
        await call_next()
        raise LookupError("mine")

    failing.__annotations__["context"] = kind
    with pytest.raises(LookupError, match="mine"):
        await run(Agent(ScriptedChatClient("a"), middleware=failing), way, "hi")


@pytest.mark.parametrize("kind", [AgentContext, ChatContext])
async def test_hooks_of_middleware_are_put_on_the_stream(kind: Any) -> None:
    """P6; and hooks run in the one order: transform, cleanup, result."""
    log: list[str] = []

    async def hooks(context: Any, call_next: Next) -> None:
        context.stream_transform_hooks.append(lambda update: log.append("transform"))
        context.stream_cleanup_hooks.append(lambda: log.append("cleanup"))
        context.stream_result_hooks.append(lambda response: log.append("result"))
        await call_next()

    hooks.__annotations__["context"] = kind
    await run(Agent(ScriptedChatClient("a b"), middleware=hooks), "stream", "hi")
    assert log == ["transform", "transform", "cleanup", "result"]


# ------------------------------------------------------------------- function middleware


@both
async def test_function_middleware_can_end_the_run_with_a_result(way: str) -> None:
    """TV19: call and result, one model turn."""

    async def stops(context: FunctionInvocationContext, call_next: Next) -> None:
        context.result = "STOP"
        raise MiddlewareTermination

    client: ScriptedChatClient[Any] = ScriptedChatClient(call("c1", "safe"), "never")
    final = await run(Agent(client, tools=safe, middleware=stops), way, "hi")
    assert [one.role for one in final.messages] == ["assistant", "tool"]
    assert final.messages[1].contents[0].result == "STOP"
    assert len(client.seen) == 1


@both
async def test_the_result_of_a_termination_counts(way: str) -> None:
    async def stops(context: FunctionInvocationContext, call_next: Next) -> None:
        raise MiddlewareTermination(result="STOP")

    client: ScriptedChatClient[Any] = ScriptedChatClient(call("c1", "safe"))
    final = await run(Agent(client, tools=safe, middleware=stops), way, "hi")
    assert final.messages[1].contents[0].result == "STOP"


@both
async def test_function_middleware_replaces_arguments_and_results(way: str) -> None:
    @tool
    def double(n: int) -> int:
        """Double it."""
        return 2 * n

    async def changes(context: FunctionInvocationContext, call_next: Next) -> None:
        context.arguments["n"] = 21
        await call_next()
        assert context.result[0].text == "42"
        context.result = "forty-two"

    client: ScriptedChatClient[Any] = ScriptedChatClient(call("c1", "double", {"n": 1}), "end")
    await run(Agent(client, tools=double, middleware=changes), way, "hi")
    assert client.seen[1].messages[-1].contents[0].result == "forty-two"


@both
async def test_a_skipped_tool_has_an_empty_result_and_the_loop_goes_on(way: str) -> None:
    async def skips(context: FunctionInvocationContext, call_next: Next) -> None: ...

    client: ScriptedChatClient[Any] = ScriptedChatClient(call("c1", "safe"), "end")
    final = await run(Agent(client, tools=safe, middleware=skips), way, "hi")
    assert final.text == "end"
    assert client.seen[1].messages[-1].contents[0].result == ""


@both
async def test_an_exception_of_function_middleware_is_told_to_the_model(way: str) -> None:
    """P4; MiddlewareFailure is the way to fail the run."""

    async def failing(context: FunctionInvocationContext, call_next: Next) -> None:
        raise LookupError("no")

    async def fatal(context: FunctionInvocationContext, call_next: Next) -> None:
        raise MiddlewareFailure("stop all of it")

    client: ScriptedChatClient[Any] = ScriptedChatClient(call("c1", "safe"), "end", repeat=True)
    final = await run(Agent(client, tools=safe, middleware=failing), way, "hi")
    assert final.text == "end"
    assert client.seen[1].messages[-1].contents[0].exception == "no"
    with pytest.raises(MiddlewareFailure, match="stop all of it"):
        await run(Agent(client, tools=safe, middleware=fatal), way, "hi")


@both
async def test_tools_can_be_added_and_removed_while_a_run_goes_on(way: str) -> None:
    """P7: from the model's next turn on."""

    def extra() -> str:
        return "x"

    @tool
    def opens(ctx: FunctionInvocationContext) -> str:
        """Add a tool, and go."""
        ctx.add_tools(extra)
        with pytest.raises(ValueError, match="'safe'"):
            ctx.add_tools([lambda: 0, safe])
        ctx.remove_tools([opens])
        ctx.remove_tools("safe")
        return "ok"

    client: ScriptedChatClient[Any] = ScriptedChatClient(
        call("c1", "opens"), call("c2", "extra"), "end"
    )
    final = await run(Agent(client, tools=[opens, safe]), way, "hi")
    names = [[one.name for one in seen.options["tools"]] for seen in client.seen]
    assert names == [["opens", "safe"], ["extra"], ["extra"]]
    assert final.messages[3].contents[0].result == "x"
    outside = FunctionInvocationContext(function=safe)
    with pytest.raises(RuntimeError):
        outside.add_tools(extra)


# ----------------------------------------------------------------------- telling kinds


class AnAgentMiddleware(AgentMiddleware):
    async def process(self, context: AgentContext, call_next: Next) -> None:
        await call_next()


class AFunctionMiddleware(FunctionMiddleware):
    async def process(self, context: FunctionInvocationContext, call_next: Next) -> None:
        await call_next()


class AChatMiddleware(ChatMiddleware):
    async def process(self, context: ChatContext, call_next: Next) -> None:
        await call_next()


@agent_middleware
async def decorated_agent(context: Any, call_next: Any) -> None: ...


@function_middleware
async def decorated_function(context: Any, call_next: Any) -> None: ...


@chat_middleware
async def decorated_chat(context: ChatContext, call_next: Any) -> None: ...


async def annotated(
    context: actors.agents._middleware._contexts.ChatContext, call_next: Any
) -> None: ...


async def local(context: AgentContext, call_next: Any) -> None: ...


class Callables:
    async def method(self, context: FunctionInvocationContext, call_next: Any) -> None: ...

    async def __call__(self, context: ChatContext, call_next: Any) -> None: ...


@pytest.mark.parametrize(
    ("middleware", "kind"),
    [
        (AnAgentMiddleware(), "agent"),
        (AFunctionMiddleware(), "function"),
        (AChatMiddleware(), "chat"),
        (decorated_agent, "agent"),
        (decorated_function, "function"),
        (decorated_chat, "chat"),
        (annotated, "chat"),
        (local, "agent"),
        (Callables().method, "function"),
        (Callables(), "chat"),
    ],
    ids=lambda given: (
        getattr(given, "__name__", type(given).__name__) if not isinstance(given, str) else given
    ),
)
def test_the_kind_is_told_by_base_decorator_or_annotation(middleware: Any, kind: str) -> None:
    """P12, P13; annotations are strings here."""
    assert kind_of(middleware) is MiddlewareType(kind)
    assert getattr(categorize([middleware]), kind) == (middleware,)


async def one_parameter(context: ChatContext) -> None: ...


async def says_nothing(context: Any, call_next: Any) -> None: ...


@agent_middleware
async def says_both(context: ChatContext, call_next: Any) -> None: ...


@pytest.mark.parametrize(
    ("middleware", "complaint"),
    [
        (one_parameter, "takes 1 parameters"),
        (says_nothing, "nothing says which kind"),
        (says_both, "decorated as agent middleware"),
        (7, "no middleware"),
        (AChatMiddleware, "an instance"),
    ],
)
def test_what_is_of_no_kind_or_of_two_is_refused(middleware: Any, complaint: str) -> None:
    """P13, P15."""
    with pytest.raises(MiddlewareException, match=complaint):
        Agent(ScriptedChatClient(), middleware=[middleware])
    with pytest.raises(MiddlewareException, match=complaint):
        Agent(ScriptedChatClient()).run("hi", middleware=[middleware])


@both
async def test_a_bundle_goes_wherever_its_members_go(way: str) -> None:
    """P16."""
    log: list[str] = []
    bundle = MiddlewareBundle(Around("b", log).all)
    client: ScriptedChatClient[Any] = ScriptedChatClient(call("c1", "safe"), "end")
    await run(Agent(client, tools=safe, middleware=bundle), way, "hi")
    assert [one for one in log if one[0] != "/"] == ["b(a)", "b(c)", "b(f)", "b(c)"]
    with pytest.raises(MiddlewareException, match="no other bundles"):
        MiddlewareBundle([bundle])
    with pytest.raises(MiddlewareException, match="nothing says"):
        MiddlewareBundle([says_nothing])
    with pytest.raises(MiddlewareException, match="can't run agent middleware"):
        ScriptedChatClient("a", middleware=[bundle])


@both
async def test_class_based_middleware_of_each_kind_runs(way: str) -> None:
    client: ScriptedChatClient[Any] = ScriptedChatClient(call("c1", "safe"), "end")
    middleware = [AnAgentMiddleware(), AFunctionMiddleware(), AChatMiddleware()]
    assert (await run(Agent(client, tools=safe, middleware=middleware), way, "hi")).text == "end"


# ----------------------------------------------------------- agents of every make (OT3)


@both
async def test_any_agent_gets_middleware_and_providers_by_composition(way: str) -> None:
    class Says(ContextProvider):
        async def before_run(self, *, context: SessionContext, state: Any, **_: Any) -> None:
            context.extend_messages(self, [Message("user", ["context"])])
            context.extend_instructions(self, "be brief")
            state["n"] = state.get("n", 0) + 1

        async def after_run(self, *, context: SessionContext, **_: Any) -> None:
            log.append(f"after {context.response.text if context.response else ''}")

    log: list[str] = []
    inner = ScriptedAgent("a", "b", name="remote", description="d")
    agent = (
        inner.as_builder()
        .use(Around("x", log).agent, Around("y", log).agent)
        .use_context_providers(Says("says"))
        .use_telemetry()
        .build()
    )
    assert (agent.id, agent.name, agent.description) == (inner.id, "remote", "d")
    session = agent.create_session()
    final = await run(agent, way, "hi", session=session)
    assert final.text == "a"
    assert inner.seen[0].texts == ["be brief", "context", "hi"]
    assert inner.seen[0].session is session
    assert [one for one in log if one[0] != "/"] == ["x(a)", "y(a)", "after a"]
    await run(agent, way, "hi")
    assert session.state["says"] == {"n": 1}


def test_what_an_agent_could_never_run_is_refused() -> None:
    log: list[str] = []
    kinds = Around("x", log)
    with pytest.raises(MiddlewareException, match="as_builder"):
        ScriptedAgent(middleware=[kinds.agent])
    with pytest.raises(MiddlewareException, match="no chat client"):
        ScriptedAgent(middleware=[kinds.chat])
    with pytest.raises(MiddlewareException, match="no chat client"):
        ScriptedAgent().as_builder().use(kinds.function).build()
    with pytest.raises(MiddlewareException, match="as_builder"):
        RawAgent(ScriptedChatClient("a"), middleware=[kinds.agent])
    with pytest.raises(MiddlewareException, match="use Agent"):
        RawAgent(ScriptedChatClient("a")).run("hi", middleware=[kinds.agent])

    class Other:
        additional_properties: Any = None

        async def get_response(self, messages: Any, *, stream: bool, options: Any) -> Any: ...

    with pytest.raises(MiddlewareException, match="takes no middleware"):
        Agent(Other(), middleware=[kinds.chat]).run("hi")


@both
async def test_what_a_provider_adds_that_the_agent_cannot_use_is_an_error(way: str) -> None:
    agent = ScriptedAgent("a").as_builder().use_context_providers(Adds([decorated_chat])).build()
    with pytest.raises(actors.AgentInvalidRequestException, match="middleware"):
        await run(agent, way, "hi")


@both
async def test_a_raw_agent_runs_the_middleware_of_its_client(way: str) -> None:
    log: list[str] = []
    agent = RawAgent(ScriptedChatClient("a"), middleware=Around("x", log).chat)
    await run(agent, way, "hi", middleware=[Around("y", log).chat])
    assert log[:2] == ["x(c)", "y(c)"]
