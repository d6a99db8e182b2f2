# Whether somebody listens is asked at every operation, so it must cost next to nothing: if
# OpenTelemetry was never imported, nobody can have set a provider; if it was, a provider that is
# only a stand-in says so by its type. The answer isn't kept, since providers are set late.
#
# A span is made the current one only while code of its operation runs. For a stream that means
# around each pull: between two pulls it is the reader's code that runs, and its spans are no
# children of ours.
"""One operation that is told about: a span, its attributes, and how long it took."""

from __future__ import annotations

import json
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Self

from actors.observability._names import OtelAttr
from actors.observability._providers import NAME
from actors.observability._settings import OBSERVABILITY_SETTINGS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opentelemetry.trace import Span

_STAND_INS: Final = frozenset({"ProxyTracerProvider", "NoOpTracerProvider"})
_METER_STAND_INS: Final = frozenset({"_ProxyMeterProvider", "NoOpMeterProvider"})
_BOUNDARIES: Final[dict[str, tuple[str, str]]] = {
    OtelAttr.OPERATION_DURATION: ("s", "Duration of operations of models"),
    OtelAttr.TOKEN_USAGE: ("{token}", "Tokens that models have read and written"),
    OtelAttr.FUNCTION_DURATION: ("s", "Duration of calls of tools"),
}
# Instruments by provider: asking a meter for one takes a lock each time.
_instruments: dict[tuple[int, str], Any] = {}


def is_heard() -> bool:
    """Say whether somebody listens; cheap where nobody ever will."""
    if not OBSERVABILITY_SETTINGS.enable_instrumentation:
        return False
    trace = sys.modules.get("opentelemetry.trace")
    if trace is not None and type(trace.get_tracer_provider()).__name__ not in _STAND_INS:
        return True
    return _meters() is not None


def is_sensitive() -> bool:
    """Say whether messages, arguments and results may be recorded."""
    return OBSERVABILITY_SETTINGS.SENSITIVE_DATA_ENABLED


class Operation:
    """A span that begins now, is current at times, and ends once.

    Args:
        name: of the span.
        attributes: what is known at its beginning; None is left out.
        duration: the metric that its seconds go into, if any.
        labels: attributes of the metric: few values each, or a metric grows without bound.
        is_client: whether it asks somebody outside of this process.
    """

    def __init__(
        self,
        name: str,
        attributes: Mapping[str, Any],
        *,
        duration: str | None = None,
        labels: Mapping[str, Any] | None = None,
        is_client: bool = False,
    ) -> None:
        from opentelemetry import trace

        kind = trace.SpanKind.CLIENT if is_client else trace.SpanKind.INTERNAL
        self._trace = trace
        self.span: Span = trace.get_tracer(NAME).start_span(
            name, kind=kind, attributes=_set_ones(attributes)
        )
        self._duration = duration
        self.labels = _set_ones(labels or {})
        self._begun = time.perf_counter()
        self._is_over = False

    @contextmanager
    def current(self) -> Iterator[Self]:
        """Make the span the current one for a block, in which an error is the operation's."""
        try:
            with self._trace.use_span(
                self.span, end_on_exit=False, record_exception=False, set_status_on_exception=False
            ):
                yield self
        except (StopAsyncIteration, StopIteration):
            raise
        except Exception as error:
            self.fail(error)
            raise
        except BaseException:
            self.end()  # cancelled: nobody's fault, and no result
            raise

    def note(self, attributes: Mapping[str, Any]) -> None:
        """Add what has become known."""
        if self.span.is_recording():
            self.span.set_attributes(_set_ones(attributes))

    def rename(self, name: str) -> None:
        """Give the span a better name."""
        self.span.update_name(name)

    def fail(self, error: BaseException) -> None:
        """End with an error."""
        if self._is_over:
            return
        kind = type(error).__name__
        self.labels = {**self.labels, OtelAttr.ERROR_TYPE.value: kind}
        self.span.record_exception(error)
        self.span.set_status(self._trace.Status(self._trace.StatusCode.ERROR, str(error)))
        self.note({OtelAttr.ERROR_TYPE: kind})
        self.end()

    def end(self) -> None:
        """End; a second time does nothing."""
        if self._is_over:
            return
        self._is_over = True
        if self._duration is not None:
            measure(self._duration, time.perf_counter() - self._begun, self.labels)
        self.span.end()


def measure(metric: str, value: float, labels: Mapping[str, Any]) -> None:
    """Add a value to a metric, if somebody listens."""
    provider = _meters()
    if provider is None:
        return
    key = (id(provider), metric)
    instrument = _instruments.get(key)
    if instrument is None:
        unit, description = _BOUNDARIES[metric]
        meter = provider.get_meter(NAME)
        instrument = meter.create_histogram(metric, unit=unit, description=description)
        _instruments[key] = instrument
    instrument.record(value, labels)


def as_json(value: Any) -> str:
    """Attributes are plain; what isn't is told as JSON."""
    return json.dumps(value, default=str, ensure_ascii=False)


def _meters() -> Any:
    metrics = sys.modules.get("opentelemetry.metrics")
    if metrics is None:
        return None
    provider = metrics.get_meter_provider()
    return None if type(provider).__name__ in _METER_STAND_INS else provider


def _set_ones(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {str(key): value for key, value in attributes.items() if value is not None}
