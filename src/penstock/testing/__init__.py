"""Guarantees of pipelines as one-line tests, and conformance suites for authors of sources and executors."""

from typing import TYPE_CHECKING

from penstock.core.lazy import names_on_demand

if TYPE_CHECKING:
    from penstock.testing.laws import verify_determinism, verify_resume

__all__ = ["verify_determinism", "verify_resume"]

if not TYPE_CHECKING:
    __getattr__ = names_on_demand(__name__, dict.fromkeys(__all__, "penstock.testing.laws"))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
