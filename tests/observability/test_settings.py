"""Switches, and setting OpenTelemetry up; what is set per process runs in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from actors import observability
from actors.observability import (
    OBSERVABILITY_SETTINGS,
    ObservabilitySettings,
    OtelAttr,
    create_metric_views,
    create_resource,
    disable_instrumentation,
    enable_instrumentation,
    enable_sensitive_telemetry,
    get_meter,
    get_tracer,
)


def run(program: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path), **environment},
    )
    return done.stdout.strip()


@pytest.fixture
def switches() -> Any:
    settings = OBSERVABILITY_SETTINGS
    before = dict(vars(settings))
    yield settings
    vars(settings).update(before)


@pytest.mark.parametrize(
    ("said", "on"), [("", True), ("true", True), ("1", True), ("false", False), ("0", False)]
)
def test_recording_is_on_unless_the_environment_says_otherwise(
    said: str, on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENABLE_INSTRUMENTATION", said)
    assert ObservabilitySettings().ENABLED is on


def test_sensitive_data_needs_both_switches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ENABLE_SENSITIVE_DATA", raising=False)
    assert not ObservabilitySettings().SENSITIVE_DATA_ENABLED
    monkeypatch.setenv("ENABLE_SENSITIVE_DATA", "true")
    assert ObservabilitySettings().SENSITIVE_DATA_ENABLED
    assert not ObservabilitySettings(enable_instrumentation=False).SENSITIVE_DATA_ENABLED


def test_off_for_good_takes_force_to_undo(switches: ObservabilitySettings) -> None:
    enable_instrumentation()
    seen = [switches.ENABLED]
    disable_instrumentation()
    enable_instrumentation()
    enable_sensitive_telemetry()
    seen.append(switches.ENABLED)
    enable_sensitive_telemetry(force=True)
    assert [*seen, switches.SENSITIVE_DATA_ENABLED] == [True, False, True]


def test_names_of_attributes_are_text() -> None:
    assert str(OtelAttr.AGENT_ID) == repr(OtelAttr.AGENT_ID) == "gen_ai.agent.id"


def test_a_resource_says_what_is_observed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "region=eu,custom=env")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "from-env")
    assert create_resource().attributes["service.name"] == "from-env"
    file = tmp_path / ".env"
    file.write_text("# comment\nexport OTEL_SERVICE_NAME='from-file'\n")
    assert create_resource(env_file_path=file).attributes["service.name"] == "from-file"
    found = create_resource("bank", "1.2", custom="mine").attributes
    assert [found[k] for k in ("service.name", "service.version", "region", "custom")] == [
        "bank", "1.2", "eu", "mine",
    ]  # fmt: skip


def test_views_keep_our_metrics_only() -> None:
    assert len(create_metric_views()) == 3


def test_tracers_and_meters_are_those_of_the_provider() -> None:
    assert get_tracer() is not None
    assert get_meter("mine") is not None


def test_every_name_is_where_maf_has_it() -> None:
    for name in observability.__all__:
        assert getattr(observability, name) is not None


def test_while_nobody_listens_opentelemetry_is_not_even_imported() -> None:
    program = (
        "import sys, trio\n"
        "from actors import Agent\n"
        "from actors.testing import ScriptedChatClient\n"
        "trio.run(Agent(ScriptedChatClient('x')).run, 'hi')\n"
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    assert run(program) == "[]"


CONFIGURED = """
import sys, trio
from actors import Agent
from actors.observability import OBSERVABILITY_SETTINGS, configure_otel_providers
from actors.testing import ScriptedChatClient
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry import trace
exporter = InMemorySpanExporter()
configure_otel_providers(exporters=[exporter], enable_sensitive_data=True)
configure_otel_providers()
trio.run(Agent(ScriptedChatClient('x'), name='a').run, 'hi')
trace.get_tracer_provider().force_flush()
print([span.name for span in exporter.get_finished_spans()], OBSERVABILITY_SETTINGS.is_setup)
"""


def test_configuring_once_is_enough_to_hear_everything() -> None:
    assert run(CONFIGURED) == "['chat scripted', 'invoke_agent a'] True"


def test_the_console_shows_spans_and_metrics() -> None:
    program = (
        "import trio\n"
        "from actors import Agent\n"
        "from actors.observability import configure_otel_providers\n"
        "from actors.testing import ScriptedChatClient\n"
        "configure_otel_providers()\n"
        "trio.run(Agent(ScriptedChatClient('x'), name='a').run, 'hi')\n"
    )
    shown = run(program, ENABLE_CONSOLE_EXPORTERS="true")
    assert "invoke_agent a" in shown
    assert "gen_ai.client.operation.duration" in shown


def test_without_opentelemetry_the_error_says_what_to_install() -> None:
    program = (
        "import sys\n"
        "sys.modules['opentelemetry.trace'] = None\n"
        "from actors.observability import get_tracer\n"
        "try:\n    get_tracer()\nexcept ImportError as error:\n    print(error)"
    )
    assert "pip install 'trio-actors[observability]'" in run(program)
