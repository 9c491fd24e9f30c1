"""What is said of a record that does not have what was asked for."""

from __future__ import annotations

from typing import NoReturn

from penstock.core.errors import DataError
from penstock.kernels.example import Fault, Kind, Slot, Status

_KINDS = {0: "nothing", Kind.BYTES: "bytes", Kind.FLOAT: "float32", Kind.INT64: "int64"}


def refuse(reason: str, record: int, feature: str | None = None) -> NoReturn:
    """Raise the `DataError` of one record of a run, `record`, which it has as `element`."""
    error = DataError(reason if feature is None else f'feature "{feature}": {reason}')
    error.element = record
    raise error


def refuse_fault(fault: Fault, slots: tuple[Slot, ...]) -> NoReturn:
    """Raise what the kernel found."""
    if fault.slot is None:
        message = "SequenceExample" if any(slot.in_lists for slot in slots) else "Example"
        refuse(f"the record is no tf.train.{message}, or is damaged", fault.record)
    slot = slots[fault.slot]
    refuse(_reason(fault, slot), fault.record, slot.name)


def _reason(fault: Fault, slot: Slot) -> str:
    of_step = " in a step" if slot.in_lists else ""
    wanted = _KINDS[slot.kind]
    match fault.status:
        case Status.DAMAGED:
            return "its values are damaged"
        case Status.WRONG_KIND:
            found = _KINDS[fault.found]
            return f'it holds {found}{of_step}, not {wanted}; ask for dtype="{found}"'
        case Status.WRONG_COUNT:
            values = "value" if fault.found == 1 else "values"
            return f"it has {fault.found} {values}{of_step}, and its shape has {slot.size}; {_REMEDY}"
        case Status.MISSING if slot.in_lists:
            return "it is missing; where records may be without it say allow_missing=True"
        case Status.MISSING:
            return "it is missing; where records may be without it say default_value="
        case _:
            return 'its text is not UTF-8; ask for dtype="bytes"'


_REMEDY = "where that differs use RaggedFeature or VarLenFeature"
