"""Guarantees of pipelines as one-line tests, and conformance suites for authors of sources and executors."""

from typing import TYPE_CHECKING

from penstock.core.lazy import names_on_demand

if TYPE_CHECKING:
    from penstock.testing.laws import verify_determinism, verify_resume
    from penstock.testing.ranks import audit, verify_ranks

__all__ = ["audit", "verify_determinism", "verify_ranks", "verify_resume"]

_PLACES = {
    **dict.fromkeys(("verify_determinism", "verify_resume"), "penstock.testing.laws"),
    **dict.fromkeys(("audit", "verify_ranks"), "penstock.testing.ranks"),
}

if not TYPE_CHECKING:
    __getattr__ = names_on_demand(__name__, _PLACES)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
