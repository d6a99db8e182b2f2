"""Traces and metrics by OpenTelemetry, in the GenAI conventions; nothing while nobody listens.

Somebody listens once an OpenTelemetry provider is set, by `configure_otel_providers`, by hand, or
by ``opentelemetry-instrument``. Until then a call costs a look into a dict, and OpenTelemetry
isn't even imported.
"""

from typing import TYPE_CHECKING

from protocols._lazy import lazy_names

if TYPE_CHECKING:
    from actors.observability._names import OtelAttr as OtelAttr
    from actors.observability._providers import (
        configure_otel_providers as configure_otel_providers,
        create_metric_views as create_metric_views,
        create_resource as create_resource,
        get_meter as get_meter,
        get_tracer as get_tracer,
    )
    from actors.observability._settings import (
        OBSERVABILITY_SETTINGS as OBSERVABILITY_SETTINGS,
        ObservabilitySettings as ObservabilitySettings,
        disable_instrumentation as disable_instrumentation,
        enable_instrumentation as enable_instrumentation,
        enable_sensitive_telemetry as enable_sensitive_telemetry,
    )

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        # The layers of agents and clients record; the names are here because MAF has them here.
        "actors.agents._telemetry": """
            AgentTelemetryLayer ChatTelemetryLayer
        """,
        "actors.observability._names": """
            OtelAttr
        """,
        "actors.observability._providers": """
            configure_otel_providers create_metric_views create_resource get_meter get_tracer
        """,
        "actors.observability._settings": """
            OBSERVABILITY_SETTINGS ObservabilitySettings disable_instrumentation
            enable_instrumentation enable_sensitive_telemetry
        """,
    },
)
