"""The first batch of a run that begins inline: a few of its rows tell whether threads are to make the others."""

from __future__ import annotations

from penstock.engine.ledger import Ledger
from penstock.engine.maker import Maker
from penstock.engine.parcel import Parcel
from penstock.engine.tuning.tuner import THREAD_PAYS, Tuner


def is_costly(parcel: Parcel, maker: Maker, ledger: Ledger, tuner: Tuner) -> bool:
    """Make the first rows of a batch, a few at a time, until it is known whether threads pay for the rest.

    Only the first batch is looked at so, and none that native code makes beside the consumer. A row that fails is found
    by whoever makes the rest.
    """
    if tuner.looks or maker.job.batch is None or maker.needs_no_gil:
        return False
    pays = _threads_pay(parcel, maker, ledger, tuner)
    if not pays:
        tuner.looks = 0  # a few rows say little of a whole batch, of which a run looks at several
    return pays


def _threads_pay(parcel: Parcel, maker: Maker, ledger: Ledger, tuner: Tuner) -> bool:
    at = 1
    while len(rows := parcel.rows[-1]) > at:
        parcel.divide([rows[:at], rows[at:]])
        piece = len(parcel.rows) - 2
        maker.fill_piece(parcel, piece)
        if parcel.fails:
            return False
        cost = ledger.note_piece(parcel, piece)
        ledger.settle(maker.item_bytes)
        pays = tuner.pays_to_split(cost, at, len(rows) - at)
        if pays is not None:
            return pays
        at = max(2 * THREAD_PAYS * at // max(cost.wall, 1), 1)
    return False
