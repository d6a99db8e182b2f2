"""The phases of an actor's life, and what can be pending for it besides messages."""

from __future__ import annotations

from typing import Final

# ENDING: the incarnation is over and being wound down, for it crashed or its work is done.
# DOWN: that is accomplished, and the parent decides. An actor only ever moves forward, but for
# DOWN -> STARTING.
STARTING, RUNNING, ENDING, DOWN, STOPPING, STOPPED = range(6)

# The control lanes, as flags.
START: Final = 1  # the start hook has to run
STOP: Final = 2
WIND_DOWN: Final = 4  # something that the end waits for has happened
FINISH: Final = 8  # the incarnation has done its work
NOTICES: Final = 16  # watched actors ended
HOOK: Final = 32  # the stop hook has to run now
HOOK_LATER: Final = 64  # it has to run once the children have stopped
FAULT: Final = 128  # something failed outside of any turn: one in progress is interrupted for it
DRAIN: Final = 256  # stop when no message is left
UNSTASH: Final = 512  # messages come back from the stash
# What must not wait for the next message.
URGENT: Final = START | STOP | WIND_DOWN | FINISH | HOOK | FAULT
# What lets no more messages in.
CLOSED: Final = STOP | DRAIN
