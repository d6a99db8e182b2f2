"""For tests and examples, ours and those of our users: agents and endpoints without a model."""

from actors.testing._fake_openai import (
    FakeOpenAI as FakeOpenAI,
    FakeRequest as FakeRequest,
    open_fake_openai as open_fake_openai,
)
from actors.testing._fake_replies import (
    Close as Close,
    Pause as Pause,
    Reply as Reply,
    Send as Send,
    Stall as Stall,
    answers as answers,
    breaks_after as breaks_after,
    chunk as chunk,
    completion as completion,
    empty_chunk as empty_chunk,
    ends_after as ends_after,
    event as event,
    fails as fails,
    says as says,
    sends as sends,
    sends_raw as sends_raw,
    stalls as stalls,
    stalls_after as stalls_after,
    stream_steps as stream_steps,
)
from actors.testing._script import ScriptOverError as ScriptOverError, Seen as Seen
from actors.testing._scripted import (
    ScriptedAgent as ScriptedAgent,
    ScriptedChatClient as ScriptedChatClient,
)
