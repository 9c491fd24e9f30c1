"""The policy for the elements left for the last batch of an epoch, as the user states it."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypedDict

from penstock.core.checks import check_flag, is_one_of
from penstock.core.errors import ElementError, PlanError
from penstock.elements import chunks

Remainder: TypeAlias = Literal["keep", "drop", "pad"]


class Policy(TypedDict):
    """The arguments of nodes that make batches."""

    drop_remainder: bool
    mask_key: str | None


def policy(call: str, spec: Any, drop_remainder: object, remainder: object, mask_key: object) -> Policy:
    """Return the checked policy for elements with this spec: `drop_remainder=`, or `remainder=` and `mask_key=`.

    >>> policy("batch", None, False, "pad", "valid")
    {'drop_remainder': False, 'mask_key': 'valid'}
    """
    drop = drops(call, drop_remainder, remainder)
    if remainder != "pad":
        return {"drop_remainder": drop, "mask_key": None}
    return {"drop_remainder": False, "mask_key": check_mask_key(call, spec, mask_key)}


def drops(call: str, drop_remainder: object, remainder: object) -> bool:
    """Return whether the remainder is dropped; if both arguments are given, they must agree."""
    drop = check_flag(call, "drop_remainder", drop_remainder)
    if not is_one_of(remainder, None, "keep", "drop", "pad"):
        raise ValueError(f'{call}(remainder={remainder!r:.80}): expected "keep", "drop" or "pad"')
    if drop and remainder in ("keep", "pad"):
        raise ValueError(f"{call}(remainder={remainder!r}): drop_remainder=True contradicts it")
    return drop or remainder == "drop"


def check_mask_key(call: str, spec: Any, key: object) -> str:
    """Return the key for the mask of elements with this spec, or of batches of them; refuse a key that they have."""
    if not isinstance(key, str):
        raise TypeError(f"{call}(mask_key={key!r}): expected a string, not {type(key).__name__}")
    try:
        chunks.padding.flagged_spec(spec, key)
    except ElementError as error:
        raise PlanError(f"{call}(): {error}") from None
    return key
