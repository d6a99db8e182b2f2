"""Pictures of workflows: what they show, and that no id or name can break them."""

from __future__ import annotations

import re
import shutil
import sys
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from actors import (
    AgentExecutor,
    Case,
    Default,
    Graph,
    Message,
    SingleEdgeGroup,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    WorkflowException,
    WorkflowExecutor,
    WorkflowViz,
    executor,
)
from actors.workflows._graph._settings import Settings
from actors.workflows._viz._dot import render
from tests.workflows.kit import Node

MERMAID_NODE = re.compile(
    r'(\w+)(?:\["([^"\[\]{}|;%#]|#\d+;)*"\]|\(\(fan-in\)\)|\(\["run"\]\))'  # a label is escaped
)
MERMAID_LINK = re.compile(r'(\w+) (?:-->|-\.->)(?:\|"(?:[^"|;]|#\d+;)*"\|)? (\w+)')
DOT_STATEMENT = re.compile(r'"\w+"(?: -> "\w+")?(?: \[\w+=(?:"(?:[^"\\]|\\.)*"|\w+).*\])?;')


class Nested(Node):
    """Stands for an executor that runs a workflow."""

    def __init__(self, id: str, workflow: Workflow) -> None:
        super().__init__(id)
        self.workflow = workflow


class Agentlike:
    def __init__(self, workflow: Workflow) -> None:
        self.workflow = workflow


def is_spam(message: int) -> bool:
    return message == 1


def pick(message: int, targets: list[str]) -> list[str]:
    return targets[:1]


def chain(*ids: str) -> Workflow:
    nodes = [Node(each) for each in ids]
    builder = WorkflowBuilder(name="chain", start_executor=nodes[0])
    for source, target in pairwise(nodes):
        builder.add_edge(source, target)
    return builder.build()


def of_graph(*ids: str) -> Workflow:
    """A star of executors with any ids, past the builder."""
    edges = [SingleEdgeGroup(ids[0], each) for each in ids[1:]]
    return Workflow(
        Graph(ids[0], {each: Node(each) for each in ids}, tuple(edges)), Settings(name="star")
    )


def mermaid(workflow: Workflow) -> list[str]:
    return [line.strip() for line in WorkflowViz(workflow).to_mermaid().splitlines()]


def dot(workflow: Workflow) -> list[str]:
    return [line.strip() for line in WorkflowViz(workflow).to_digraph().splitlines()]


def test_mermaid_shows_executors_and_edges() -> None:
    assert WorkflowViz(chain("a", "b")).to_mermaid() == (
        'flowchart TD\n    a["a (Start)"]\n    b["b"]\n    a --> b'
    )


def test_dot_shows_executors_and_edges() -> None:
    assert dot(chain("a", "b")) == [
        'digraph "chain" {',
        "rankdir=TB;",
        'node [shape=box, style=filled, fillcolor="white"];',
        '"a" [label="a\\n(Start)", fillcolor="lightgreen"];',
        '"b" [label="b"];',
        '"a" -> "b";',
        "}",
    ]


@pytest.mark.parametrize(
    ("condition", "words"),
    [(is_spam, "is_spam"), (lambda _: True, "conditional"), (partial(is_spam), "partial")],
)
def test_a_condition_is_shown_with_its_name(condition: Any, words: str) -> None:
    a, b = Node("a"), Node("b")
    workflow = WorkflowBuilder(start_executor=a).add_edge(a, b, condition=condition).build()

    assert f'a -.->|"{words}"| b' in mermaid(workflow)
    assert f'"a" -> "b" [style=dashed, label="{words}"];' in dot(workflow)


def test_the_cases_of_a_switch_are_numbered_and_have_a_default() -> None:
    a, b, c = Node("a"), Node("b"), Node("c")
    cases: list[Case | Default] = [Case(is_spam, b), Case(lambda _: True, b), Default(c)]
    workflow = WorkflowBuilder(start_executor=a).add_switch_case_edge_group(a, cases).build()

    assert mermaid(workflow)[-3:] == [
        'a -.->|"case 1#58; is_spam"| b',
        'a -.->|"case 2"| b',
        'a -.->|"default"| c',
    ]


def test_a_selection_names_who_selects() -> None:
    a, b, c = Node("a"), Node("b"), Node("c")
    builder = WorkflowBuilder(start_executor=a)
    workflow = builder.add_multi_selection_edge_group(a, [b, c], pick).build()

    assert mermaid(workflow)[-2:] == [
        'a -.->|"selected by pick"| b',
        'a -.->|"selected by pick"| c',
    ]


def fan_in(*sources: str) -> Workflow:
    start, target = Node("start"), Node("target")
    nodes = [Node(each) for each in sources]
    builder = WorkflowBuilder(start_executor=start).add_fan_out_edges(start, nodes)
    return builder.add_fan_in_edges(nodes, target).build()


def test_a_fan_in_is_a_node_of_its_own() -> None:
    lines = mermaid(fan_in("a", "b"))
    (node,) = [line.removesuffix("((fan-in))") for line in lines if "((" in line]

    assert lines[-3:] == [f"a --> {node}", f"b --> {node}", f"{node} --> target"]
    assert f'"{node}" [label="fan-in", shape=ellipse];' in dot(fan_in("a", "b"))


def test_the_name_of_a_fan_in_depends_on_its_ends_only() -> None:
    def name_of_join(*sources: str) -> str:
        return next(line for line in mermaid(fan_in(*sources)) if "((" in line)

    # Written down: it must be the same in every process and version.
    assert name_of_join("a", "b") == "fan_in__target__7e2855be((fan-in))"
    assert name_of_join("b", "a") == name_of_join("a", "b")
    assert name_of_join("a", "c") != name_of_join("a", "b")


def test_the_run_itself_is_shown_on_request() -> None:
    viz = WorkflowViz(chain("a", "b"))

    assert 'n_internal_a(["run"])' not in viz.to_mermaid()
    assert '    internal_a(["run"])\n' in viz.to_mermaid(include_internal_executors=True)
    assert '    internal_a -->|"input"| a\n' in viz.to_mermaid(include_internal_executors=True)
    assert '"internal_a" [label="run", shape=ellipse' in viz.to_digraph(True)


def test_a_nested_workflow_has_a_frame_and_names_of_its_own() -> None:
    inner = Nested("inner", chain("a", "b"))
    a = Node("a")
    workflow = WorkflowBuilder(start_executor=a).add_edge(a, inner).build()

    assert WorkflowViz(workflow).to_mermaid().splitlines()[1:] == [
        '    a["a (Start)"]',
        '    inner["inner"]',
        '    subgraph inner__workflow["chain"]',
        '        inner__a["a (Start)"]',
        '        inner__b["b"]',
        "        inner__a --> inner__b",
        "    end",
        "    a --> inner",
        '    inner -->|"runs"| inner__a',
    ]
    assert 'subgraph "cluster_inner__workflow" {' in dot(workflow)


def test_a_workflow_that_an_agent_is_made_of_is_shown() -> None:
    a, shell = Node("a"), Node("shell")
    shell.agent = Agentlike(chain("x"))  # type: ignore[attr-defined] # as an AgentExecutor has
    workflow = WorkflowBuilder(start_executor=a).add_edge(a, shell).build()

    assert 'shell__x["x (Start)"]' in mermaid(workflow)


def test_real_workflows_inside_of_executors_and_agents_are_shown() -> None:
    @executor(id="talk")
    async def talk(messages: list[Message], ctx: WorkflowContext[Any, str]) -> None: ...

    agent = WorkflowBuilder(start_executor=talk, name="talking").build().as_agent("voice")
    inner = WorkflowBuilder(start_executor=AgentExecutor(agent), name="inner").build()
    workflow = WorkflowBuilder(start_executor=WorkflowExecutor(inner, "sub"), name="outer").build()

    lines = mermaid(workflow)
    assert 'subgraph sub__workflow["inner"]' in lines
    assert 'sub__voice["voice (Start)"]' in lines
    assert 'sub__voice__talk["talk (Start)"]' in lines


def test_a_workflow_that_runs_itself_is_drawn_once() -> None:
    inner = Nested("inner", chain("a"))
    workflow = WorkflowBuilder(start_executor=inner).build()
    inner.workflow = workflow

    assert mermaid(workflow) == ["flowchart TD", 'inner["inner (Start)"]']


def test_words_of_the_grammars_are_no_names() -> None:
    names = [line.split("[")[0] for line in mermaid(of_graph("end", "Graph", "style", "ending"))]

    assert names[1:5] == ["n_end", "n_Graph", "n_style", "ending"]


def test_ids_that_look_alike_stay_apart() -> None:
    workflow = of_graph("a b", "a.b", "a_b", "a_b_2")

    assert mermaid(workflow)[1:5] == [
        'a_b["a b (Start)"]',
        'a_b_2["a.b"]',
        'a_b_3["a_b"]',
        'a_b_2_2["a_b_2"]',
    ]


def test_thousands_of_ids_that_look_alike_take_no_longer_than_others() -> None:
    ids = [chr(0x4E00 + number) for number in range(5000)]

    assert len({line.split("[")[0] for line in mermaid(of_graph(*ids))[1:5001]}) == 5000


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('say "hi"', "say #34;hi#34;"),
        ("#35;", "#35;35#59;"),
        ("%%{init}%%", "#37;#37;#123;init#125;#37;#37;"),
        ("go direction TB", "go #100;irection TB"),
        ("two\nlines\x00\ud800", "two<br/>lines#65533;#65533;"),
        ("größer\u00a0als", "größer als"),
    ],
)
def test_mermaid_labels_are_escaped(text: str, shown: str) -> None:
    assert f'["{shown} (Start)"]' in mermaid(of_graph(text))[1]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('say "hi"', r"say \"hi\""),
        ("a\\", r"a\\"),
        ("&lt;", "&amp;lt;"),
        ("two\nlines", r"two\nlines"),
    ],
)
def test_dot_labels_are_escaped(text: str, shown: str) -> None:
    assert f'[label="{shown}\\n(Start)"' in dot(of_graph(text))[3]


IDS = st.lists(
    st.text(min_size=1, max_size=8)
    | st.sampled_from(
        ["end", "END", "a b", "a_b", "a.b", "a_b_2", '"];', "]\n", "\\", "|", "%%{"]
    ),
    min_size=1,
    max_size=6,
    unique=True,
)


@given(IDS)
def test_any_ids_give_mermaid_that_can_be_parsed(ids: list[str]) -> None:
    head, *lines = WorkflowViz(of_graph(*ids)).to_mermaid().split("\n")
    nodes = [MERMAID_NODE.fullmatch(line.strip()) for line in lines[: len(ids)]]
    links = [MERMAID_LINK.fullmatch(line.strip()) for line in lines[len(ids) :]]
    names = [found[1] for found in nodes if found]

    assert head == "flowchart TD"
    assert len(set(names)) == len(ids)
    assert [found and found.groups() for found in links] == [
        (names[0], each) for each in names[1:]
    ]


@given(IDS)
def test_any_ids_give_dot_that_can_be_parsed(ids: list[str]) -> None:
    _, _, _, *statements, last = WorkflowViz(of_graph(*ids)).to_digraph().split("\n")

    assert last == "}"
    assert len(statements) == 2 * len(ids) - 1
    assert all(DOT_STATEMENT.fullmatch(each.strip()) for each in statements)
    assert len({each.split()[0] for each in statements[: len(ids)]}) == len(ids)


# ------------------------------------------------------------------ files


def fake_dot(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Put a `dot` of ours on the PATH, and no other."""
    script = folder / "bin" / "dot"
    script.parent.mkdir()
    script.write_text(f"#!{sys.executable}\nimport sys, time\n{code}\n", encoding="utf-8")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(script.parent))


COPIES = "sys.stdout.write(sys.argv[1] + ' ' + sys.stdin.read())"


@pytest.mark.parametrize("picture", ["svg", "png", "pdf"])
def test_pictures_are_made_by_graphviz(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, picture: str
) -> None:
    fake_dot(tmp_path, monkeypatch, COPIES)
    viz = WorkflowViz(chain("a", "b"))
    path = getattr(viz, f"save_{picture}")(tmp_path / f"flow.{picture}")

    assert path == str(tmp_path / f"flow.{picture}")
    assert Path(path).read_text() == f"-T{picture} {viz.to_digraph()}"


def test_a_file_name_gets_the_suffix_that_it_lacks(tmp_path: Path) -> None:
    viz = WorkflowViz(chain("a"))
    path = viz.export("dot", tmp_path / "flow")

    assert path == str(tmp_path / "flow.dot")
    assert Path(path).read_text() == viz.to_digraph() + "\n"


def test_without_a_file_name_there_is_a_new_file() -> None:
    path = Path(WorkflowViz(chain("a")).export("dot"))
    try:
        assert path.suffix == ".dot"
        assert path.read_text().startswith("digraph")
    finally:
        path.unlink()


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="'gif'; the formats are svg, png, pdf, dot"):
        WorkflowViz(chain("a")).export("gif", tmp_path / "flow")  # type: ignore[arg-type] # that's the point
    assert not list(tmp_path.iterdir())


def test_a_suffix_that_says_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"flow\.png doesn't look like a file for svg"):
        WorkflowViz(chain("a")).save_svg(tmp_path / "flow.png")


def test_missing_graphviz_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ImportError, match="install graphviz"):
        WorkflowViz(chain("a")).save_png(tmp_path / "flow.png")
    assert not (tmp_path / "flow.png").exists()


def test_graphviz_that_fails_is_quoted_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_dot(tmp_path, monkeypatch, "sys.exit('no such font')")
    with pytest.raises(WorkflowException, match="exit code 1: no such font"):
        WorkflowViz(chain("a")).save_svg(tmp_path / "flow.svg")
    assert not (tmp_path / "flow.svg").exists()


def test_graphviz_that_hangs_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_dot(tmp_path, monkeypatch, "sys.stdin.read(); sys.stdout.flush(); time.sleep(600)")
    with pytest.raises(WorkflowException, match=r"drew for 0\.2 s"):
        render("digraph {}", "svg", time_limit=0.2)


@pytest.mark.skipif(shutil.which("dot") is None, reason="graphviz isn't installed")
def test_real_graphviz_takes_what_we_write(tmp_path: Path) -> None:
    nested = Nested('a "nested" <one>', fan_in("end", "a&amp;b", "\\"))
    path = WorkflowViz(WorkflowBuilder(start_executor=nested).build()).save_svg(tmp_path / "x.svg")

    assert "a&amp;amp;b" in Path(path).read_text(encoding="utf-8")
    assert Path(path).stat().st_size > 1000


def test_it_says_of_what_it_is() -> None:
    assert repr(WorkflowViz(chain("a"))) == "<WorkflowViz of chain>"
