"""What becomes of the elements that are left for the last batch of an epoch, as the user says it."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypedDict

from penstock.core.checks import check_flag, is_one_of
from penstock.core.errors import ElementError, PlanError
from penstock.elements import chunks

Remainder: TypeAlias = Literal["keep", "drop", "pad"]


class Policy(TypedDict):
    """What nodes that make batches take."""

    drop_remainder: bool
    mask_key: str | None


def policy(call: str, spec: Any, drop_remainder: object, remainder: object, mask_key: object) -> Policy:
    """The policy on elements with this spec, checked: tf.data's `drop_remainder=`, or `remainder=` and `mask_key=`.

    >>> policy("batch", None, False, "pad", "valid")
    {'drop_remainder': False, 'mask_key': 'valid'}
    """
    drop = drops(call, drop_remainder, remainder)
    if remainder != "pad":
        return {"drop_remainder": drop, "mask_key": None}
    return {"drop_remainder": False, "mask_key": check_mask_key(call, spec, mask_key)}


def drops(call: str, drop_remainder: object, remainder: object) -> bool:
    """Whether what is left is left out; where both arguments say something, they have to agree."""
    drop = check_flag(call, "drop_remainder", drop_remainder)
    if not is_one_of(remainder, None, "keep", "drop", "pad"):
        raise ValueError(f'{call}(remainder={remainder!r:.80}): expected "keep", "drop" or "pad"')
    if drop and remainder in ("keep", "pad"):
        raise ValueError(f"{call}(remainder={remainder!r}): drop_remainder=True says otherwise")
    return drop or remainder == "drop"


def check_mask_key(call: str, spec: Any, key: object) -> str:
    """The key under which elements with this spec, or batches of them, have their flags; refused where they have it."""
    if not isinstance(key, str):
        raise TypeError(f"{call}(mask_key={key!r}): expected a text, not {type(key).__name__}")
    try:
        chunks.padding.flagged_spec(spec, key)
    except ElementError as error:
        raise PlanError(f"{call}(): {error}") from None
    return key
