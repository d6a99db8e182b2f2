"""For tests and examples, ours and those of our users.

- `seeds`, `explore`, `cancel_everywhere`, `crash_everywhere`, `leaks`: try a scenario in every
  order, and break it at every point.
- `print_tree`, `tree_on_failure`: show what the actors were doing when a test went wrong.
- `Probe`, `slow`, `failing`, `stuck`: stand in for actors, and for what goes wrong in them.
- `storage_checks`, `StorageDouble`: what a checkpoint storage has to do, and one that is slow, or
  fails, dies and comes back.
- `ScriptedChatClient`, `ScriptedAgent`, `open_fake_openai`: agents and endpoints without a model.
"""

from actors._core._turns._explore import Explorer as Explorer, explore as explore
from actors.testing._cassette import (
    CassetteChatClient as CassetteChatClient,
    UnknownRequestError as UnknownRequestError,
)
from actors.testing._crash import (
    DifferentResultError as DifferentResultError,
    InjectedCrash as InjectedCrash,
    crash_everywhere as crash_everywhere,
)
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
    responds as responds,
    says as says,
    sends as sends,
    sends_raw as sends_raw,
    stalls as stalls,
    stalls_after as stalls_after,
    stream_steps as stream_steps,
)
from actors.testing._fake_responses import (
    call_item as call_item,
    message_item as message_item,
    response_body as response_body,
    response_events as response_events,
)
from actors.testing._faults import (
    Fault as Fault,
    failing as failing,
    slow as slow,
    stuck as stuck,
)
from actors.testing._leaks import LeakError as LeakError, leaks as leaks
from actors.testing._probe import Probe as Probe, UnexpectedError as UnexpectedError
from actors.testing._script import ScriptOverError as ScriptOverError, Seen as Seen
from actors.testing._scripted import (
    ScriptedAgent as ScriptedAgent,
    ScriptedChatClient as ScriptedChatClient,
)
from actors.testing._seeds import (
    SeedReport as SeedReport,
    TooFewOrdersError as TooFewOrdersError,
    seeded_random as seeded_random,
    seeds as seeds,
)
from actors.testing._storage_kit import (
    StorageCheck as StorageCheck,
    storage_checks as storage_checks,
)
from actors.testing._storage_kit_double import StorageDouble as StorageDouble
from actors.testing._sweep import (
    SwallowedCancelError as SwallowedCancelError,
    cancel_everywhere as cancel_everywhere,
)
from actors.testing._trees import print_tree as print_tree, tree_on_failure as tree_on_failure
