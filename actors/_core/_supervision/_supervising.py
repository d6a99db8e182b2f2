# A parent decides about a child that ended at once, even while a turn of its own is in progress:
# the decision is about the child only, and a handler that waits for its child's answer would
# otherwise wait for a restart that waits for the handler. Only a failure of the parent itself
# (too many restarts) concerns its turn, and interrupts it.
#
# What is to be done is said by pure functions (`_decide`, `_group`); here it is done.
"""An actor as the supervisor of its children."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import trio

from actors._core._errors import ActorStoppedError, NameTakenError, RestartLimitError
from actors._core._introspection._happenings import ActorFailed
from actors._core._phases import DOWN, FAULT, RUNNING, STOPPED
from actors._core._reasons import Crashed, Finished
from actors._core._supervision._decide import (
    Decision,
    GiveUp,
    LeaveDown,
    Restart,
    StartAgain,
    Supervision,
    count_recent,
    decide,
)
from actors._core._supervision._ending import Ending
from actors._core._supervision._group import Regroup, Standing, Step, concerned, ends_group
from actors._core._supervision._kin import Group

if TYPE_CHECKING:
    from actors._core._cell import Cell
    from actors._core._reasons import ExitReason
    from actors._core._supervision._kin import Options


class Supervising(Ending):
    """What an actor has to do with its children."""

    __slots__ = ()

    def check_child(self, name: str | int) -> Group:
        """Refuse a child if its name is taken, or it can't be at all.

        Raises:
            NameTakenError: if a living child has it.
            ActorStoppedError: if this actor is about to end.
        """
        if self.phase > RUNNING:
            raise ActorStoppedError(self.name)
        kin = self.kin or self.family()
        # A number that stands for a made-up one is never given twice.
        if isinstance(name, str) and name in kin.children:
            raise NameTakenError(f"{self.name}/{name}")
        if kin.group is None:
            kin.group = Group(has_time_limits=self.supervision.has_time_limits)
        return kin.group

    def check_significant(self, options: Options) -> None:
        """Refuse a significant child that could never end this actor.

        Raises:
            ValueError: as OTP does, if it is permanent, or nothing would follow from its end.
        """
        if options.restart is Restart.PERMANENT:
            raise ValueError(
                "a significant child can't be permanent: it would never end by itself; spawn it "
                "with restart=Restart.TRANSIENT or TEMPORARY"
            )
        if self.supervision.auto_shutdown == "never":
            raise ValueError(
                f"nothing follows from the end of a significant child of {self.name}: give its "
                'Supervision auto_shutdown="any_significant" or "all_significant"'
            )

    def adopt(self, child: Cell) -> None:
        """Take *child* in. Its name was checked, but its factory may have done anything since."""
        children = (self.kin or self.family()).children
        if self.phase > RUNNING or child.own_name in children:
            self.check_child(child.own_name)
        children[child.own_name] = child

    @property
    def supervision(self) -> Supervision:
        """How this actor keeps its children alive."""
        return self.actor.supervision

    def child_ended(self, child: Cell, error: BaseException | None) -> None:
        """*child* is down: it failed with *error*, or did its work. Say what becomes of it."""
        group = self._group()
        regroup = None if self.phase > RUNNING else group.regroup
        if regroup is not None and regroup.awaits(child):
            self._child_halted(child, error)
            return
        if self.phase > RUNNING or self.pending & FAULT:
            decision: Decision = LeaveDown()
        else:
            decision = self._decide(child, error)
        self._report(child, error, decision)
        if isinstance(decision, StartAgain):
            self._start_again(child, group, decision.delay)
            return
        child.terminate(Finished() if error is None else Crashed(error))
        if isinstance(decision, GiveUp):
            group.drop_regroup()
            self.fault(self._escalate(child, error, decision))
        elif error is not None and child.options.significant and self.phase <= RUNNING:
            self._significant_ended()

    def _group(self) -> Group:
        assert self.kin is not None
        assert self.kin.group is not None
        return self.kin.group

    def _start_again(self, child: Cell, group: Group, delay: float) -> None:
        """Start *child* after *delay*, and those that its failure concerns."""
        timers, due = self.system.timers, trio.current_time() + delay
        if self.supervision.strategy == "one_for_one":
            child.family().timer = timers.at(due, child.restart)
            return
        if group.regroup is not None:
            due = max(due, group.regroup.due)
        group.drop_regroup()
        siblings = list(self.family().children.values())
        regroup = Regroup(concerned(self.supervision.strategy, siblings, child), due)
        group.regroup = regroup
        # Even if it is due at once: a stop that was asked for comes first.
        group.timer = timers.at(due, partial(self._regroup_is_due, regroup))
        self.go_on_regrouping()

    def _regroup_is_due(self, regroup: Regroup[Cell]) -> None:
        regroup.is_due = True
        self.go_on_regrouping()

    def go_on_regrouping(self) -> None:
        """Take the next steps of a restart that concerns several children, until one waits."""
        group = None if self.kin is None else self.kin.group
        # Each step may bring the news that calls us. A loop takes them, for a recursion would be
        # as deep as there are children.
        if group is None or group.regroup is None or group.is_regrouping:
            return
        group.is_regrouping = True
        while self.phase <= RUNNING and _take_step(group):
            pass
        group.is_regrouping = False

    def _child_halted(self, child: Cell, error: BaseException | None) -> None:
        """*child* is down, as it was to be. A crash on the way there is reported, not counted."""
        if error is not None:
            self.system.report(ActorFailed(child.ref, error, "StartAgain", 0))
        if child.options.restart is Restart.TEMPORARY:
            child.terminate(Finished() if error is None else Crashed(error))
        self.go_on_regrouping()

    def child_gone(self, child: Cell, reason: ExitReason) -> None:
        """*child* has ended for good, while this actor goes on."""
        self.go_on_regrouping()
        if child.options.significant and type(reason) is Finished:
            self._significant_ended()

    def _significant_ended(self) -> None:
        """A significant child ended by itself: perhaps this actor's work is done, too."""
        left = sum(c.options.significant for c in self.family().children.values())
        if ends_group(self.supervision.auto_shutdown, left):
            self._group().drop_regroup()
            self.finish()
            if self.parent is None:
                self.system.complete()
            elif self.ctx is not None:
                self.limit()

    def _decide(self, child: Cell, error: BaseException | None) -> Decision:
        supervision = self.supervision
        counts_alone = supervision.budget == "child"
        decision = decide(
            supervision,
            child.options.restart,
            error,
            child.family().own_recent if counts_alone else self.family().recent,
            now=trio.current_time(),
            chance=self.system.random.random(),
        )
        if isinstance(decision, StartAgain):
            if counts_alone:
                child.family().own_recent = decision.recent
            else:
                self.family().recent = decision.recent
        return decision

    def _report(self, child: Cell, error: BaseException | None, decision: Decision) -> None:
        if error is None:
            return
        count = 0
        if isinstance(decision, (StartAgain, GiveUp)):
            count = count_recent(self.supervision, decision.recent, trio.current_time())
        self.system.report(ActorFailed(child.ref, error, type(decision).__name__, count))

    def _escalate(
        self, child: Cell, error: BaseException | None, decision: GiveUp
    ) -> BaseException:
        if error is not None and not decision.is_over_limit:
            return error
        supervision = self.supervision
        limit = RestartLimitError(child.name, supervision.max_restarts, supervision.period)
        limit.__cause__ = error
        return limit


def _take_step(group: Group) -> bool:
    """Do the next thing of a regroup. False: there is nothing to do until there is news."""
    if group.regroup is None:
        return False
    step, child = group.regroup.step(_standing)
    if step is Step.WAIT:
        return False
    if child is None:
        group.drop_regroup()
        return False
    if step is Step.START:
        child.restart()
        return True
    child.halt()
    return child.phase in {DOWN, STOPPED}


def _standing(child: Cell) -> Standing:
    if child.phase == RUNNING:
        return Standing.UP
    if child.phase == STOPPED:
        return Standing.GONE
    return Standing.DOWN if child.phase == DOWN else Standing.BUSY
