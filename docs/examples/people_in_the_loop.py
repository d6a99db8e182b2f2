"""A draft is published when a person has read it; the run stays open meanwhile."""

import attrs
import trio

from actors import (
    Executor,
    ResponseTypeError,
    WorkflowBuilder,
    WorkflowContext,
    executor,
    handler,
    response_handler,
)


@attrs.frozen
class Draft:
    text: str


@attrs.frozen
class Verdict:
    approved: bool
    advice: str = ""


@executor(id="writer")
async def writer(topic: str, ctx: WorkflowContext[str]) -> None:
    await ctx.send_message(f"All about {topic}.")


class Editor(Executor):
    state = ()

    @handler
    async def review(self, text: str, ctx: WorkflowContext) -> None:
        await ctx.request_info(Draft(text), Verdict)

    @response_handler
    async def decided(
        self, draft: Draft, verdict: Verdict, ctx: WorkflowContext[str, str]
    ) -> None:
        if verdict.approved:
            await ctx.yield_output(draft.text)
        else:
            await self.review(f"{draft.text} {verdict.advice}", ctx)


async def main() -> None:
    editor = Editor("editor")
    workflow = WorkflowBuilder(start_executor=writer).add_edge(writer, editor).build()

    async with workflow.open_run() as run:
        for topic in ("frogs", "toads"):
            run.send(topic)
        await run.result()
        for request in run.requests.values():
            print("?", request.data.text)

        # Answers come as JSON says them, in any order. One that doesn't fit changes nothing.
        _, second = run.requests
        try:
            run.respond({second: {"approved": "yes"}})
        except ResponseTypeError as error:
            print("refused:", str(error).split(": ")[1].split(" (")[0])
        run.respond({second: {"approved": False, "advice": "They croak."}})
        await run.result()
        for name, request in run.requests.items():
            print("?", request.data.text)
            run.respond({name: Verdict(approved=True)})
        print((await run.result()).get_outputs())


trio.run(main)
