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
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, Self

from actors.observability._names import OtelAttr
from actors.observability._providers import NAME
from actors.observability._settings import OBSERVABILITY_SETTINGS
from protocols._errors import message_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from opentelemetry.context import Context
    from opentelemetry.trace import Span, SpanContext

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
    return is_traced() or (OBSERVABILITY_SETTINGS.enable_instrumentation and _meters() is not None)


def is_traced() -> bool:
    """Say whether somebody listens to spans; cheap where nobody ever will."""
    if not OBSERVABILITY_SETTINGS.enable_instrumentation:
        return False
    trace = sys.modules.get("opentelemetry.trace")
    return trace is not None and type(trace.get_tracer_provider()).__name__ not in _STAND_INS


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
        kind: of the span: ``"CLIENT"`` where it asks somebody outside of this process,
            ``"PRODUCER"`` and ``"CONSUMER"`` where nobody waits for what becomes of a message.
        links: what it comes of without being a part of it, as contexts of spans.
        context: what it is a part of; None for what is current.
    """

    def __init__(
        self,
        name: str,
        attributes: Mapping[str, Any],
        *,
        duration: str | None = None,
        labels: Mapping[str, Any] | None = None,
        kind: str = "INTERNAL",
        links: Sequence[SpanContext] = (),
        context: Context | None = None,
    ) -> None:
        from opentelemetry import trace

        self._trace = trace
        self.span: Span = trace.get_tracer(NAME).start_span(
            name,
            context,
            trace.SpanKind[kind],
            _set_ones(attributes),
            [trace.Link(link) for link in links],
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

    @property
    def context(self) -> Context:
        """In which other spans are a part of this one."""
        return self._trace.set_span_in_context(self.span)

    def enter(self) -> None:
        """Make the span the current one of the context that we run in, which ends with it."""
        from opentelemetry.context import attach

        attach(self.context)

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
        if is_sensitive():
            self._tell(error)
        else:  # what an error says is often what a user has said
            self.span.add_event("exception", {"exception.type": kind})
            self.span.set_status(self._trace.StatusCode.ERROR)
        self.note({OtelAttr.ERROR_TYPE: kind})
        self.end()

    def _tell(self, error: BaseException) -> None:
        # By hand: the SDK's own way trusts errors to have a text.
        kind, said = type(error), message_of(error)
        known = {
            "exception.type": f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins."),
            "exception.message": said,
            "exception.stacktrace": "".join(traceback.format_exception(error)),
        }
        self.span.add_event("exception", known)
        self.span.set_status(self._trace.StatusCode.ERROR, said)

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
    """Attributes are plain; what isn't is told as JSON, or by its text. It is never an error."""
    try:
        return json.dumps(value, default=_text_of, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return _text_of(value)


def _text_of(value: Any) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 (the user's code; nobody may fail for being listened to)
        return f"<{type(value).__name__}>"


def _meters() -> Any:
    metrics = sys.modules.get("opentelemetry.metrics")
    if metrics is None:
        return None
    provider = metrics.get_meter_provider()
    return None if type(provider).__name__ in _METER_STAND_INS else provider


def _set_ones(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {str(key): value for key, value in attributes.items() if value is not None}
