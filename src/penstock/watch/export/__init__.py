"""Figures of a run for other programs: TensorBoard, Prometheus, OpenTelemetry."""

from typing import TYPE_CHECKING

from penstock.core.lazy import files_on_demand

__all__ = ["event_file", "figures", "opentelemetry", "prometheus", "tensorboard"]

if TYPE_CHECKING:
    from penstock.watch.export import event_file, figures, opentelemetry, prometheus, tensorboard
else:
    __getattr__ = files_on_demand(__name__, __all__)
