"""What a built graph says about itself: its executors and edges, its types, its signature."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

from actors.workflows._durable._signature import digest_of, signature_of

if TYPE_CHECKING:
    from actors.workflows._graph._definition import Graph
    from actors.workflows._graph._edges import EdgeGroup
    from actors.workflows._graph._executor import Executor
    from actors.workflows._graph._settings import Settings


class DescribedGraph:
    """A graph of executors, and how it is run.

    Args:
        graph: the executors, and who sends to whom.
        settings: how it is run.
    """

    def __init__(self, graph: Graph, settings: Settings) -> None:
        self.graph = graph
        self.settings = settings
        self.id = str(uuid.uuid4())

    @property
    def name(self) -> str:
        """Its name; made up if the builder got none."""
        return self.settings.name

    @property
    def description(self) -> str | None:
        """What it is for, in the words of whoever built it."""
        return self.settings.description

    @property
    def max_iterations(self) -> int:
        """How many supersteps a run may take."""
        return self.settings.max_iterations

    @property
    def executors(self) -> dict[str, Executor]:
        """The executors by id."""
        return dict(self.graph.executors)

    def get_executors_list(self) -> list[Executor]:
        """Return the executors."""
        return list(self.graph.executors.values())

    @property
    def start_executor_id(self) -> str:
        """The id of the executor that gets the input."""
        return self.graph.start_id

    @property
    def edge_groups(self) -> list[EdgeGroup]:
        """The groups of edges, in the order in which they were added."""
        return list(self.graph.edge_groups)

    @property
    def graph_signature(self) -> dict[str, Any]:
        """What makes the graph the same as another, as far as stored runs are concerned."""
        return signature_of(self.graph, self.settings.schedule)

    @property
    def graph_signature_hash(self) -> str:
        """A digest of the signature; a run goes on from checkpoints with the same one."""
        return digest_of(self.graph_signature)

    def get_start_executor(self) -> Executor:
        """Return the executor that gets the input."""
        return self.graph.executors[self.graph.start_id]

    def get_output_executors(self) -> list[Executor]:
        """Return the executors whose outputs are outputs of the workflow."""
        return self._designated("output")

    def get_intermediate_executors(self) -> list[Executor]:
        """Return the executors whose outputs are intermediate ones."""
        return self._designated("intermediate")

    def _designated(self, kind: str) -> list[Executor]:
        found = self.graph.designations
        return [e for name, e in self.graph.executors.items() if found.get(name) == kind]

    def is_terminal_executor(self, executor_id: str) -> bool:
        """Say whether the outputs of an executor are outputs of the workflow."""
        return self.graph.designation(executor_id) == "output"

    def is_intermediate_executor(self, executor_id: str) -> bool:
        """Say whether the outputs of an executor are intermediate ones."""
        return self.graph.designation(executor_id) == "intermediate"

    @property
    def input_types(self) -> list[Any]:
        """What the start executor takes."""
        return self.get_start_executor().input_types

    @property
    def output_types(self) -> list[Any]:
        """What the output executors yield."""
        found = (t for e in self.get_output_executors() for t in e.workflow_output_types)
        return list(dict.fromkeys(found))

    def to_dict(self) -> dict[str, Any]:
        """Describe the graph in plain data; conditions by their names."""
        graph = self.graph
        described: dict[str, Any] = {
            "name": self.name,
            "id": self.id,
            "start_executor_id": graph.start_id,
            "max_iterations": self.max_iterations,
            "edge_groups": [group.to_dict() for group in graph.edge_groups],
            "executors": {name: e.to_dict() for name, e in graph.executors.items()},
            "output_executors": _listed(graph.output_ids),
            "intermediate_executors": _listed(graph.intermediate_ids),
        }
        if self.description is not None:
            described["description"] = self.description
        return described

    def to_json(self) -> str:
        """Return ``to_dict`` as JSON."""
        return json.dumps(self.to_dict())


def _listed(ids: tuple[str, ...] | None) -> list[str] | None:
    return None if ids is None else list(ids)
