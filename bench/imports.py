"""How long does the import take?"""

from __future__ import annotations

from bench._registry import Beside, Figure, Row, ours
from bench.peer_scripts.importing import fresh


def _ours(statement: str) -> Figure:
    return ours(statement, fresh, statement)


def _theirs(peer: str, statement: str) -> Beside:
    return Beside(Figure(statement, fresh.__module__, "fresh", (statement,), peer))


TRIO = Beside(_ours("import trio"), at_most=1.5)

ROWS = (
    Row(
        "imports.package",
        "import",
        _ours("import actors"),
        (
            TRIO,
            _theirs("maf", "import agent_framework"),
            _theirs("autogen", "import autogen_core"),
            _theirs("pykka", "import pykka"),
        ),
        unit="ms",
    ),
    # Packages load parts of themselves on use, so what is used is named here.
    Row(
        "imports.workflow",
        "import",
        _ours("from actors import AgentExecutor, WorkflowBuilder"),
        (
            TRIO,
            _theirs("maf", "from agent_framework import AgentExecutor, WorkflowBuilder"),
            _theirs("langgraph", "from langgraph.graph import StateGraph"),
        ),
        unit="ms",
    ),
)
