"""Setting up OpenTelemetry, for those who have no set-up of their own."""

from __future__ import annotations

import logging
import os
import pathlib
from typing import TYPE_CHECKING, Any, Final

from actors.observability._names import OtelAttr
from actors.observability._settings import OBSERVABILITY_SETTINGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opentelemetry.metrics import Meter
    from opentelemetry.sdk.metrics.view import View
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.trace import Tracer

NAME: Final = "trio-actors"
_HOW: Final = "it isn't installed: pip install 'trio-actors[observability]'"
_LOG: Final = logging.getLogger("actors.observability")


def get_tracer(
    instrumenting_module_name: str = NAME,
    instrumenting_library_version: str | None = None,
    schema_url: str | None = None,
    attributes: dict[str, Any] | None = None,
) -> Tracer:
    """Give a tracer of the provider that is set.

    Raises:
        ImportError: OpenTelemetry isn't installed; the message says how to do so.
    """
    trace = _api("opentelemetry.trace")
    tracer: Tracer = trace.get_tracer(
        instrumenting_module_name, instrumenting_library_version, None, schema_url, attributes
    )
    return tracer


def get_meter(
    name: str = NAME,
    version: str | None = None,
    schema_url: str | None = None,
    attributes: dict[str, Any] | None = None,
) -> Meter:
    """Give a meter of the provider that is set.

    Raises:
        ImportError: OpenTelemetry isn't installed; the message says how to do so.
    """
    metrics = _api("opentelemetry.metrics")
    meter: Meter = metrics.get_meter(name, version or "", None, schema_url, attributes)
    return meter


def create_resource(
    service_name: str | None = None,
    service_version: str | None = None,
    env_file_path: str | os.PathLike[str] | None = None,
    **attributes: Any,
) -> Resource:
    """Say what is being observed.

    Args:
        service_name: ``OTEL_SERVICE_NAME`` unless given, else the name of this library.
        service_version: ``OTEL_SERVICE_VERSION`` unless given.
        env_file_path: a file of ``NAME=value`` lines that wins over the environment.
        **attributes: whatever else there is to say; they win over
            ``OTEL_RESOURCE_ATTRIBUTES``.

    Raises:
        ImportError: OpenTelemetry's SDK isn't installed; the message says how to do so.
    """
    resources = _api("opentelemetry.sdk.resources")
    found = dict(_file(env_file_path))

    def look(name: str) -> str | None:
        return found.get(name) or os.environ.get(name)

    known: dict[str, Any] = dict(_pairs(look("OTEL_RESOURCE_ATTRIBUTES") or ""))
    known["service.name"] = service_name or look("OTEL_SERVICE_NAME") or NAME
    if version := service_version or look("OTEL_SERVICE_VERSION"):
        known["service.version"] = version
    resource: Resource = resources.Resource.create(known | attributes)
    return resource


def create_metric_views() -> list[View]:
    """Views that keep our metrics and drop everybody else's."""
    view = _api("opentelemetry.sdk.metrics.view")
    ours = ("agent_framework*", "gen_ai*")
    kept: list[View] = [view.View(instrument_name=name) for name in ours]
    return [*kept, view.View(instrument_name="*", aggregation=view.DropAggregation())]


def configure_otel_providers(
    *,
    enable_sensitive_data: bool | None = None,
    exporters: Sequence[Any] = (),
    views: Sequence[View] = (),
    enable_console_exporters: bool | None = None,
    vs_code_extension_port: int | None = None,
    env_file_path: str | os.PathLike[str] | None = None,
    resource: Resource | None = None,
) -> None:
    """Set OpenTelemetry's providers for this process; once, at its start.

    Args:
        enable_sensitive_data: record messages, arguments and results, too.
        exporters: for spans, metrics and logs; each kind goes where it belongs.
        views: of metrics.
        enable_console_exporters: print everything.
        vs_code_extension_port: send everything to that port of this machine, by OTLP.
        env_file_path: a file of ``NAME=value`` lines that wins over the environment.
        resource: what is being observed; see `create_resource`.

    Raises:
        ImportError: OpenTelemetry's SDK isn't installed; the message says how to do so.
    """
    settings = OBSERVABILITY_SETTINGS
    if settings.is_setup:
        _LOG.warning("OpenTelemetry is configured already; this is ignored")
        return
    if enable_sensitive_data is not None:
        settings.enable_sensitive_data = enable_sensitive_data
    if enable_console_exporters is not None:
        settings.enable_console_exporters = enable_console_exporters
    port = vs_code_extension_port or settings.vs_code_extension_port
    found = [*exporters, *(_console() if settings.enable_console_exporters else [])]
    found += [] if port is None else _otlp(f"http://127.0.0.1:{port}")
    if endpoint := _endpoint(env_file_path):
        found += _otlp(endpoint)
    _set_providers(found, views, resource or create_resource(env_file_path=env_file_path))
    settings.enable_instrumentation = True
    settings.is_setup = True


def _set_providers(exporters: Sequence[Any], views: Sequence[View], resource: Resource) -> None:
    trace, metrics = _api("opentelemetry.trace"), _api("opentelemetry.metrics")
    sdk_trace, sdk_metrics = _api("opentelemetry.sdk.trace"), _api("opentelemetry.sdk.metrics")
    spans = _api("opentelemetry.sdk.trace.export")
    readers = _api("opentelemetry.sdk.metrics.export")
    tracing = sdk_trace.TracerProvider(resource=resource)
    for exporter in exporters:
        if isinstance(exporter, spans.SpanExporter):
            tracing.add_span_processor(spans.BatchSpanProcessor(exporter))
    trace.set_tracer_provider(tracing)
    reading = [e for e in exporters if isinstance(e, readers.MetricReader)]
    reading += [
        readers.PeriodicExportingMetricReader(e)
        for e in exporters
        if isinstance(e, readers.MetricExporter)
    ]
    if reading:
        provider = sdk_metrics.MeterProvider(reading, resource=resource, views=views or [])
        metrics.set_meter_provider(provider)


def _console() -> list[Any]:
    spans = _api("opentelemetry.sdk.trace.export")
    metrics = _api("opentelemetry.sdk.metrics.export")
    return [spans.ConsoleSpanExporter(), metrics.ConsoleMetricExporter()]


def _otlp(endpoint: str) -> list[Any]:
    """Exporters to a collector; by HTTP, which needs no compiled library."""
    how = "it isn't installed: pip install opentelemetry-exporter-otlp-proto-http"
    spans = _api("opentelemetry.exporter.otlp.proto.http.trace_exporter", how)
    metrics = _api("opentelemetry.exporter.otlp.proto.http.metric_exporter", how)
    base = endpoint.rstrip("/")
    return [
        spans.OTLPSpanExporter(endpoint=f"{base}/v1/traces"),
        metrics.OTLPMetricExporter(endpoint=f"{base}/v1/metrics"),
    ]


def _endpoint(env_file_path: str | os.PathLike[str] | None) -> str | None:
    name = "OTEL_EXPORTER_OTLP_ENDPOINT"
    return dict(_file(env_file_path)).get(name) or os.environ.get(name)


def _file(path: str | os.PathLike[str] | None) -> list[tuple[str, str]]:
    if path is None:
        return []
    with pathlib.Path(path).open(encoding="utf-8") as lines:
        return [pair for line in lines for pair in _pairs(line.strip().removeprefix("export "))]


def _pairs(text: str) -> list[tuple[str, str]]:
    found = (part.partition("=") for part in text.split(",") if not part.startswith("#"))
    return [(name.strip(), value.strip().strip("\"'")) for name, is_, value in found if is_]


def _api(name: str, how: str = _HOW) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ImportError(f"{name} is needed for telemetry, and {how}") from error


__all__ = [
    "NAME",
    "OtelAttr",
    "configure_otel_providers",
    "create_metric_views",
    "create_resource",
    "get_meter",
    "get_tracer",
]
