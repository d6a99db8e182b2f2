"""A listener in memory. OpenTelemetry takes one provider per process, so it stays, switched off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import attrs
import pytest
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from actors.observability import OBSERVABILITY_SETTINGS

_EXPORTER: Final = InMemorySpanExporter()
# Each test counts for itself.
_READER: Final = InMemoryMetricReader({Histogram: AggregationTemporality.DELTA})


@attrs.frozen
class Heard:
    """What was recorded since the test began."""

    exporter: InMemorySpanExporter
    reader: InMemoryMetricReader
    collected: list[Any] = attrs.field(factory=list)

    @property
    def spans(self) -> list[ReadableSpan]:
        """In the order in which they ended."""
        return list(self.exporter.get_finished_spans())

    def named(self, name: str) -> ReadableSpan:
        [found] = [span for span in self.spans if span.name == name]
        return found

    def tree(self) -> dict[str, str | None]:
        """Each span's name with its parent's."""
        names = {span.context.span_id: span.name for span in self.spans if span.context}
        return {
            span.name: names.get(span.parent.span_id) if span.parent else None
            for span in self.spans
        }

    def points(self, metric: str) -> list[Any]:
        """The points of a metric: each with its attributes, count and sum."""
        # What was collected once isn't told again.
        data = self.reader.get_metrics_data()
        self.collected.extend(data.resource_metrics if data else ())
        return [
            point
            for resource in self.collected
            for scope in resource.scope_metrics
            for each in scope.metrics
            if each.name == metric
            for point in each.data.data_points
        ]


@pytest.fixture(scope="session")
def providers() -> None:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(_EXPORTER))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider([_READER]))


@pytest.fixture
def heard(providers: None) -> Iterator[Heard]:
    settings = OBSERVABILITY_SETTINGS
    before = settings.enable_instrumentation, settings.enable_sensitive_data
    settings.enable_instrumentation = True
    _EXPORTER.clear()
    _READER.get_metrics_data()
    yield Heard(_EXPORTER, _READER)
    # For the rest of the process nobody listens: other tests are about other things.
    settings.enable_instrumentation, settings.enable_sensitive_data = False, before[1]
