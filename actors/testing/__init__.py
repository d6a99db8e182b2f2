"""For tests and examples, ours and those of our users: agents and endpoints without a model."""

from actors.testing._fake_openai import (
    FakeOpenAI as FakeOpenAI,
    FakeRequest as FakeRequest,
    open_fake_openai as open_fake_openai,
)
from actors.testing._script import (
    ScriptOverError as ScriptOverError,
    Seen as Seen,
)
from actors.testing._scripted import (
    ScriptedAgent as ScriptedAgent,
    ScriptedChatClient as ScriptedChatClient,
)
