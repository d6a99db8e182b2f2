"""How a workflow becomes an agent, without knowing agents: their layer is above this one."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

_makers: list[Callable[..., Any]] = []


def register_workflow_agent(maker: Callable[..., Any]) -> None:
    """Say what makes an agent of a workflow; the layer of agents does, when it is loaded."""
    _makers.append(maker)


def make_workflow_agent(workflow: Any, **options: Any) -> Any:
    """Make an agent of *workflow*."""
    if not _makers:
        # Nobody has needed agents so far. The front door loads, and so registers, whatever it is
        # asked for.
        _ = importlib.import_module("actors").WorkflowAgent
    return _makers[-1](workflow, **options)
