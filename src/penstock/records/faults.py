"""Messages for records that lack a required feature or are damaged."""

from __future__ import annotations

from typing import NoReturn

from penstock.core.errors import DataError
from penstock.kernels.example import Fault, FeatureKind, ParseStatus, WantedFeature

_KINDS = {0: "nothing", FeatureKind.BYTES: "bytes", FeatureKind.FLOAT: "float32", FeatureKind.INT64: "int64"}


def refuse(reason: str, record: int, feature: str | None = None) -> NoReturn:
    """Raise the `DataError` of number `record` of a run, with that number as `element`."""
    error = DataError(reason if feature is None else f'feature "{feature}": {reason}')
    error.element = record
    raise error


def refuse_fault(fault: Fault, slots: tuple[WantedFeature, ...]) -> NoReturn:
    """Raise the error for a fault that the kernel found."""
    if fault.slot is None:
        message = "SequenceExample" if any(slot.in_lists for slot in slots) else "Example"
        refuse(f"the record is not a tf.train.{message}, or is damaged", fault.record)
    slot = slots[fault.slot]
    refuse(_reason(fault, slot), fault.record, slot.name)


def _reason(fault: Fault, slot: WantedFeature) -> str:
    of_step = " in a step" if slot.in_lists else ""
    wanted = _KINDS[slot.kind]
    match fault.status:
        case ParseStatus.DAMAGED:
            return "its values are damaged"
        case ParseStatus.WRONG_KIND:
            found = _KINDS[fault.found]
            return f'it holds {found}{of_step}, not {wanted}; pass dtype="{found}"'
        case ParseStatus.WRONG_COUNT:
            values = "value" if fault.found == 1 else "values"
            return f"it has {fault.found} {values}{of_step}, and its shape has {slot.size}; {_REMEDY}"
        case ParseStatus.MISSING if slot.in_lists:
            return "it is missing; if records may lack it, pass allow_missing=True"
        case ParseStatus.MISSING:
            return "it is missing; if records may lack it, pass default_value="
        case _:
            return 'its text is not UTF-8; pass dtype="bytes"'


_REMEDY = "if sizes vary, use RaggedFeature or VarLenFeature"
