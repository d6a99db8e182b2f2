"""Whether anything is recorded, and what of it; looked up in the environment at import."""

from __future__ import annotations

import os
from typing import Final

_TRUE: Final = frozenset({"1", "on", "true", "yes"})


def _given(value: bool | None, variable: str, *, default: bool = False) -> bool:
    if value is not None:
        return value
    said = os.environ.get(variable)
    return default if not said else said.strip().lower() in _TRUE


class ObservabilitySettings:
    """What is recorded.

    Args:
        enable_instrumentation: record at all, if somebody listens; ``ENABLE_INSTRUMENTATION`` in
            the environment, on unless that says otherwise.
        enable_sensitive_data: record messages, arguments and results, too;
            ``ENABLE_SENSITIVE_DATA``, off unless that says otherwise.
        enable_console_exporters: what `configure_otel_providers` is to set up;
            ``ENABLE_CONSOLE_EXPORTERS``.
        vs_code_extension_port: where an extension of an editor listens;
            ``VS_CODE_EXTENSION_PORT``.

    Attributes:
        is_setup: whether `configure_otel_providers` was called.
    """

    def __init__(
        self,
        *,
        enable_instrumentation: bool | None = None,
        enable_sensitive_data: bool | None = None,
        enable_console_exporters: bool | None = None,
        vs_code_extension_port: int | None = None,
    ) -> None:
        self.enable_instrumentation = _given(
            enable_instrumentation, "ENABLE_INSTRUMENTATION", default=True
        )
        self.enable_sensitive_data = _given(enable_sensitive_data, "ENABLE_SENSITIVE_DATA")
        self.enable_console_exporters = _given(
            enable_console_exporters, "ENABLE_CONSOLE_EXPORTERS"
        )
        port = os.environ.get("VS_CODE_EXTENSION_PORT", "")
        self.vs_code_extension_port = vs_code_extension_port or (
            int(port) if port.isdigit() else None
        )
        self.is_setup = False
        self._is_off_for_good = False

    @property
    def ENABLED(self) -> bool:  # noqa: N802 (MAF's name)
        """Whether anything is recorded, if somebody listens."""
        return self.enable_instrumentation

    @property
    def SENSITIVE_DATA_ENABLED(self) -> bool:  # noqa: N802 (MAF's name)
        """Whether messages, arguments and results are recorded, too."""
        return self.enable_instrumentation and self.enable_sensitive_data


OBSERVABILITY_SETTINGS: Final = ObservabilitySettings()
"""The settings of this process."""


def enable_instrumentation(
    *, enable_sensitive_data: bool | None = None, force: bool = False
) -> None:
    """Record from now on.

    Args:
        enable_sensitive_data: record messages, arguments and results, too.
        force: also if `disable_instrumentation` was called before.
    """
    settings = OBSERVABILITY_SETTINGS
    if settings._is_off_for_good and not force:  # noqa: SLF001 (a part of that class)
        return
    settings._is_off_for_good = False  # noqa: SLF001
    settings.enable_instrumentation = True
    if enable_sensitive_data is not None:
        settings.enable_sensitive_data = enable_sensitive_data


def enable_sensitive_telemetry(*, force: bool = False) -> None:
    """Record from now on, messages, arguments and results included."""
    enable_instrumentation(enable_sensitive_data=True, force=force)


def disable_instrumentation() -> None:
    """Record nothing from now on, whoever wants to, unless he says ``force``."""
    OBSERVABILITY_SETTINGS.enable_instrumentation = False
    OBSERVABILITY_SETTINGS._is_off_for_good = True  # noqa: SLF001 (a part of that class)
