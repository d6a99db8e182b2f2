"""``WorkflowBuilder``: how a graph of executors is put together, checked, and made a workflow."""

from __future__ import annotations

import itertools
import uuid
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import attrs

from actors.workflows._graph._definition import Graph
from actors.workflows._graph._edges import (
    Condition,
    EdgeGroup,
    FanInEdgeGroup,
    FanOutEdgeGroup,
    MapEdgeGroup,
    Selector,
    SingleEdgeGroup,
)
from actors.workflows._graph._outputs import (
    IntermediateFrom,
    OutputFrom,
    check_literals,
    designate,
)
from actors.workflows._graph._retries import unfit_handlers, unretryable
from actors.workflows._graph._roster import Participant, Roster, is_participant, name_or_id
from actors.workflows._graph._settings import (
    DEFAULT_MAX_ATTEMPTS,
    DEFAULT_MAX_IN_FLIGHT,
    DEFAULT_MAX_ITERATIONS,
    Durability,
    OnCheckpointError,
    Schedule,
    Settings,
    check_own,
)
from actors.workflows._graph._validate import find_problems, report_suspicions
from actors.workflows._graph._validation_errors import raise_problems

if TYPE_CHECKING:
    from actors._core._supervision._decide import Supervision
    from actors.workflows._graph._joins import JoinPolicy
    from actors.workflows._graph._switch import Case, Default
    from actors.workflows._workflow import Workflow


class WorkflowBuilder:
    """Puts a workflow together: who takes part, and who sends to whom.

    A participant is an executor, an agent, or a factory: a function or class that, called
    without arguments, makes one of these, anew for each run. All methods that add edges return
    the builder. Edges carry each message once; an executor that several edges lead to runs
    once per arriving message, unless ``add_fan_in_edges`` joins them.

    Args:
        max_iterations: rounds that a run may take.
        name: of the workflow; made up if not given.
        description: for people, and for agents that use the workflow.
        start_executor: the participant that gets the input of a run.
        checkpoint_storage: where checkpoints go.
        output_from: whose outputs are the workflow's: participants, or ``"all"``. With neither
            this nor the next, everybody's are.
        intermediate_output_from: whose outputs are intermediate ones: participants, ``"all"``,
            or ``"all_other"``.
        output_executors: the old name of ``output_from``.
        schedule: ``superstep`` in rounds, ``flow`` as messages arrive.
        supervision: which failed turns are tried again; without it the first fails the run.
        strict_types: whether sending or yielding an undeclared type is an error, not a warning.
        durability: what a checkpoint waits for; left to the storage if not given.
        on_checkpoint_error: whether a failed save fails the run, or is a warning event.
        max_in_flight: messages that may wait at once in a run.
        max_attempts: how often a message may be in progress when the process dies, before it is
            given up; where runs are stored.

    Raises:
        ValueError: an option has a value that it doesn't know.
        TypeError: an option has a value of another type, the start executor can't take part, or
            both names of ``output_from`` are used.
    """

    def __init__(
        self,
        max_iterations: int = DEFAULT_MAX_ITERATIONS,
        name: str | None = None,
        description: str | None = None,
        *,
        start_executor: Participant,
        checkpoint_storage: Any = None,
        output_from: OutputFrom = None,
        intermediate_output_from: IntermediateFrom = None,
        output_executors: OutputFrom = None,
        schedule: Schedule = "superstep",
        supervision: Supervision | None = None,
        strict_types: bool = False,
        durability: Durability | None = None,
        on_checkpoint_error: OnCheckpointError = "raise",
        max_in_flight: int = DEFAULT_MAX_IN_FLIGHT,
        max_attempts: int = DEFAULT_MAX_ATTEMPTS,
    ) -> None:
        self._output_from = _one_of_two_names(output_from, output_executors)
        self._intermediate_from = intermediate_output_from
        check_literals(self._output_from, self._intermediate_from)
        self._settings = Settings(
            name=name or f"WorkflowBuilder-{uuid.uuid4()}",
            description=description,
            max_iterations=max_iterations,
            checkpoint_storage=checkpoint_storage,
            schedule=schedule,
            supervision=supervision,
            strict_types=strict_types,
            durability=durability,
            on_checkpoint_error=on_checkpoint_error,
            max_in_flight=max_in_flight,
            max_attempts=max_attempts,
        )
        self._roster = Roster()
        self._groups: list[EdgeGroup] = []
        self._start_id = self._roster.add(start_executor)
        self._supervision: dict[str, Supervision] = {}
        self._on_error: dict[str, str] = {}

    def add_edge(
        self, source: Participant, target: Participant, condition: Condition | None = None
    ) -> Self:
        """Let the messages of *source* go to *target*.

        Args:
            source: the sender.
            target: the receiver.
            condition: gets each message; a falsy answer keeps it from going this way.
        """
        ends = self._roster.add(source), self._roster.add(target)
        return self._with(SingleEdgeGroup(*ends, condition))

    def add_chain(self, executors: Sequence[Participant]) -> Self:
        """Let the messages of each participant go to the next.

        Raises:
            ValueError: there are fewer than two.
        """
        if len(executors) < 2:  # noqa: PLR2004 (a chain has an edge at least)
            raise ValueError(f"a chain needs at least two executors and got {len(executors)}")
        ids = [self._roster.add(each) for each in executors]
        for source_id, target_id in itertools.pairwise(ids):
            self._with(SingleEdgeGroup(source_id, target_id))
        return self

    def add_fan_out_edges(self, source: Participant, targets: Sequence[Participant]) -> Self:
        """Let each message of *source* go to all *targets*, which handle it concurrently.

        Raises:
            ValueError: there are fewer than two targets.
        """
        return self._with(FanOutEdgeGroup(self._roster.add(source), self._add_all(targets)))

    def add_multi_selection_edge_group(
        self, source: Participant, targets: Sequence[Participant], selection_func: Selector
    ) -> Self:
        """Let each message of *source* go to those *targets* that a function selects.

        Args:
            source: the sender.
            targets: the receivers.
            selection_func: gets the message and the ids of all targets, returns some of them.

        Raises:
            ValueError: there are fewer than two targets.
        """
        source_id = self._roster.add(source)
        return self._with(FanOutEdgeGroup(source_id, self._add_all(targets), selection_func))

    def add_fan_in_edges(
        self,
        sources: Sequence[Participant],
        target: Participant,
        join: JoinPolicy = "all",
    ) -> Self:
        """Join *sources*: the target gets one list, when they have sent a message each.

        The list is in the order of *sources*, with one item of each that took part. What a
        source sends on top of that waits for the next firing.

        Args:
            sources: the senders.
            target: the receiver.
            join: ``all`` waits for every source; ``any`` for the first, ``quorum(n)`` for the
                first n, and what the others send to the same firing is set aside;
                ``all_reachable`` for each that work in progress may still lead to.

        Raises:
            ValueError: there are fewer than two sources, or *join* is no policy for them.
        """
        source_ids = self._add_all(sources)
        return self._with(FanInEdgeGroup(source_ids, self._roster.add(target), join))

    def add_map_edges(
        self,
        source: Participant,
        worker: Participant | Sequence[Participant],
        target: Participant,
    ) -> Self:
        """Let each list that *source* sends be handled item by item, and gathered again.

        Each item goes to the worker in a turn of its own, one after the other, as all turns of an
        executor (a `WorkflowExecutor` begins a child for each, all at once); the target gets one list of what the
        worker sent for them, in the order of the items, when all are done. An item for which
        it sends nothing adds nothing to the list, one for which it sends several messages adds
        all of them; an empty list leads to an empty list. All that an item leads to is kept
        apart from the other items: joins behind a worker join what belongs to one item, and a
        map behind it has lists of its own.

        Args:
            source: sends lists or tuples; those with an item that the worker can't take are
                left to its other edges.
            worker: gets the items. Where handling one takes several executors, the first and
                the last of them, connected by other edges: the last one's messages count.
            target: gets the lists of results.

        Raises:
            ValueError: *worker* is a sequence of other than two participants.
        """
        first, last = _ends_of(worker)
        ids = [self._roster.add(each) for each in (source, first, target)]
        return self._with(MapEdgeGroup(ids[0], ids[1], ids[2], last_id=self._roster.add(last)))

    def add_switch_case_edge_group(
        self, source: Participant, cases: Sequence[Case | Default]
    ) -> Self:
        """Let each message of *source* go to the target of the first case that wants it.

        Args:
            source: the sender.
            cases: asked in this order; exactly one is a ``Default``, the last.

        Raises:
            ValueError: there are fewer than two entries, or not exactly one default.
        """
        # On use, as all that few workflows have.
        from actors.workflows._graph._switch import SwitchCaseEdgeGroup, resolved

        source_id = self._roster.add(source)
        found = [resolved(each, self._roster.add(each.target)) for each in cases]
        return self._with(SwitchCaseEdgeGroup(source_id, found))

    def supervise(
        self,
        executor: Participant,
        supervision: Supervision | None = None,
        *,
        on_error: Participant | None = None,
    ) -> Self:
        """Say what becomes of failed turns of one executor, whatever holds for the others.

        Args:
            executor: whose turns.
            supervision: which of them are tried again, how often, and how long each may take;
                the workflow's if not given. Its budget is for this executor alone.
            on_error: gets an `ExecutorFailure` in place of a message whose last attempt failed,
                and the run goes on. It needs no edge for that.

        Raises:
            ValueError: *supervision* restarts siblings, or limits how long the run may be idle,
                or neither it nor *on_error* is given.
        """
        name = self._roster.add(executor)
        if supervision is not None:
            check_own(name, supervision)
            self._supervision[name] = supervision
        elif on_error is None:
            raise ValueError(f"say how {name!r} is to be supervised: a Supervision, or on_error=…")
        if on_error is not None:
            self._on_error[name] = self._roster.add(on_error)
        return self

    def build(self) -> Workflow:
        """Check the graph and make the workflow.

        Raises:
            WorkflowValidationError: the first problem of the graph; ``problems`` has all.
            TypeError: ``output_from`` lists something that can't take part in a workflow.
        """
        executors, factories = self._roster.executors, self._roster.factories
        settings = attrs.evolve(
            self._settings, own_supervision=dict(self._supervision), on_error=dict(self._on_error)
        )
        outputs = designate(
            self._ids("output_from", self._output_from),
            self._ids("intermediate_output_from", self._intermediate_from),
            executors,
        )
        raise_problems(
            [
                *outputs.problems,
                *find_problems(self._groups, executors, self._start_id, self._on_error),
                *unretryable(executors, factories, settings),
                *unfit_handlers(executors, settings),
            ]
        )
        report_suspicions(self._groups, executors)
        graph = Graph(
            self._start_id,
            executors,
            self._groups,
            output_ids=outputs.output_ids,
            intermediate_ids=outputs.intermediate_ids,
            factories=dict(factories),
            on_error=dict(self._on_error),
        )
        # On use: whoever only describes graphs needs no engine.
        from actors.workflows._workflow import Workflow

        return Workflow(graph, settings)

    def _with(self, group: EdgeGroup) -> Self:
        self._groups.append(group)
        return self

    def _add_all(self, participants: Sequence[Participant]) -> list[str]:
        given: Any = participants
        if not isinstance(given, Iterable) or isinstance(given, str):
            raise TypeError(f"give a list of participants, and not {given!r} alone")
        return [self._roster.add(each) for each in participants]

    def _ids(self, option: str, given: Sequence[Any] | None) -> Sequence[str] | None:
        if given is None or isinstance(given, str):
            return given
        for each in given:
            if isinstance(each, str) or not is_participant(each):
                raise TypeError(
                    f"{option} lists {each!r}; list the executors or agents themselves"
                )
        return [self._roster.id_of(each) or name_or_id(each) for each in given]


def _ends_of(
    worker: Participant | Sequence[Participant],
) -> tuple[Participant, Participant]:
    if not isinstance(worker, Sequence):
        return worker, worker
    if len(worker) != 2:  # noqa: PLR2004 (where it begins and where it ends)
        raise ValueError(
            f"the worker of a map is one participant, or the first and the last of several, not "
            f"{len(worker)}; connect those between them with other edges"
        )
    return worker[0], worker[1]


def _one_of_two_names(output_from: OutputFrom, output_executors: OutputFrom) -> OutputFrom:
    if output_executors is None:
        return output_from
    if output_from is not None:
        raise TypeError(
            "output_from and output_executors are two names of one option; use output_from"
        )
    warnings.warn(
        "output_executors is deprecated; use output_from", DeprecationWarning, stacklevel=3
    )
    return output_executors
