"""Collects the participants of a workflow: executors, agents, and factories of either.

Each goes by one id. The same object, given again, is the same participant.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from actors.workflows._graph._executor import Executor
from protocols._interfaces import SupportsAgentRun

Participant: TypeAlias = Executor | SupportsAgentRun | Callable[[], Executor | SupportsAgentRun]

_HOW: Final = (
    "take part as an Executor, an agent, or a function without parameters that makes one of "
    "these; decorate a function of messages with @executor"
)


class Roster:
    """The participants of a workflow by id, in the order they were added."""

    __slots__ = ("_given", "executors", "factories")

    def __init__(self) -> None:
        self.executors: dict[str, Executor] = {}
        self.factories: dict[str, Callable[[], Executor]] = {}
        # By identity, since agents needn't be hashable; the object is kept so that its
        # identity isn't given to another.
        self._given: dict[int, tuple[Any, str]] = {}

    def add(self, participant: Participant) -> str:
        """Return the id of a participant, which is a new one if it wasn't added before.

        Raises:
            ValueError: another participant has that id, or an agent has nothing to be its id.
            TypeError: it is nothing that can take part.
        """
        known = self.id_of(participant)
        if known is not None:
            return known
        made, factory = _executor_of(participant)
        if made.id in self.executors:
            raise ValueError(
                f"Two executors have the id {made.id!r}: {self.executors[made.id]!r} and "
                f"{made!r}. Ids are unique in a workflow; give one of them another id (an "
                "agent goes by its name)"
            )
        self.executors[made.id] = made
        if factory is not None:
            self.factories[made.id] = factory
        self._given[id(participant)] = participant, made.id
        return made.id

    def id_of(self, participant: object) -> str | None:
        """Return the id that a participant was added under; None if it wasn't."""
        return self._given.get(id(participant), (None, None))[1]


def is_participant(given: object) -> bool:
    """Say whether *given* looks like something that can take part."""
    return isinstance(given, Executor | SupportsAgentRun) or callable(given)


def name_or_id(participant: Any) -> str:
    """Return what a participant that wasn't added would go by."""
    if isinstance(participant, Executor):
        return participant.id
    return str(getattr(participant, "name", None) or getattr(participant, "id", participant))


def _executor_of(
    participant: Participant,
) -> tuple[Executor, Callable[[], Executor] | None]:
    # Classes first: an agent's class has the members of an agent, but is a factory.
    if not isinstance(participant, type):
        made = _as_executor(participant)
        if made is not None:
            return made, None
    if not callable(participant) or not _takes_nothing(participant):
        raise TypeError(f"{participant!r} can't take part in a workflow: {_how(participant)}")
    factory = _factory_of(participant)
    return factory(), factory


def _how(given: Any) -> str:
    """Say what somebody has probably meant."""
    if isinstance(given, str):
        return f"executors are connected as objects and not by their ids; {_HOW}"
    if isinstance(given, type):
        return (
            "it is a class that can't be made without arguments: give an object of it, or a "
            "function without parameters that makes one"
        )
    if callable(getattr(given, "get_response", None)):
        return "it is a chat client: make an agent of it, Agent(client, name=...)"
    if hasattr(given, "get_start_executor"):
        return "it is a workflow: wrap it, WorkflowExecutor(workflow, id=...)"
    return _HOW


def _as_executor(participant: object) -> Executor | None:
    if isinstance(participant, Executor):
        if not hasattr(participant, "id"):
            raise TypeError(
                f"a {type(participant).__name__} has no id: have its __init__ call "
                "super().__init__(id)"
            )
        return participant
    return _wrapped(participant) if isinstance(participant, SupportsAgentRun) else None


def _wrapped(agent: SupportsAgentRun) -> Executor:
    if not (agent.name or agent.id):
        raise ValueError(
            f"{agent!r} has neither a name nor an id, so that no edge could name it: "
            'create it with name="...", or wrap it as AgentExecutor(agent, id="...")'
        )
    # On use, since agents are the larger half of the package and not every workflow has one.
    from actors.workflows._agents._agent_executor import AgentExecutor

    executor: Executor = AgentExecutor(agent)
    return executor


def _takes_nothing(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind()
    except TypeError:
        return False
    except ValueError:  # a builtin that doesn't tell
        return True
    return True


def _factory_of(make: Callable[[], Any]) -> Callable[[], Executor]:
    def factory() -> Executor:
        made = make()
        found = None if isinstance(made, type) else _as_executor(made)
        if found is None:
            raise TypeError(f"{make!r} made {made!r}, which can't take part in a workflow: {_HOW}")
        return found

    return factory
