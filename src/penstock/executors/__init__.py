"""Executors that run tasks on other machines, and the protocol of executors that do more than `submit`.

>>> dir(ps.executors)
['Elastic', 'KeptOnce', 'LostWorkerError', 'Placing', 'RayExecutor', 'ray']
"""

from typing import TYPE_CHECKING

from penstock.core.lazy import names_on_demand

if TYPE_CHECKING:
    from penstock.executors import on_ray as on_ray
    from penstock.executors.on_ray import RayExecutor, ray
    from penstock.executors.protocol import Elastic, KeptOnce, LostWorkerError, Placing

__all__ = ["Elastic", "KeptOnce", "LostWorkerError", "Placing", "RayExecutor", "ray"]

_PLACES = {
    "Elastic": "penstock.executors.protocol",
    "KeptOnce": "penstock.executors.protocol",
    "LostWorkerError": "penstock.executors.protocol",
    "Placing": "penstock.executors.protocol",
    "RayExecutor": "penstock.executors.on_ray",
    "ray": "penstock.executors.on_ray",
    "on_ray": "penstock.executors.on_ray",
}

if not TYPE_CHECKING:
    __getattr__ = names_on_demand(__name__, _PLACES)


def __dir__() -> list[str]:
    return sorted(__all__)
