"""Checks of the arguments of `pack`, and the plan for them."""

from __future__ import annotations

from typing import Any, get_args

from penstock.core.checks import check_count, check_flag, is_one_of
from penstock.core.errors import ElementError, PlanError
from penstock.elements.spec import ArraySpec, describe
from penstock.kernels import MOST_CAPACITY
from penstock.ops import group
from penstock.plan.node import Node

STRATEGIES: tuple[str, ...] = ("first_fit", "best_fit", "split")


def packing(  # noqa: PLR0913 - as many as pack() has
    source: Node,
    length: Any,
    strategy: Any,
    *,
    window: Any,
    pad: Any,
    on: Any,
    overlong: Any,
    keep_positions: Any,
    remainder: Any,
) -> group.pack.Pack:
    """Return the plan of `source.pack(...)`."""
    size = check_count("pack", "length", length, least=1)
    if size > MOST_CAPACITY:
        raise ValueError(f"pack(length={size}): expected at most 2**24")
    _check_choice("strategy", strategy, STRATEGIES)
    _check_choice("overlong", overlong, get_args(group.pack.Overlong))
    if on is not None and (isinstance(on, bool) or not isinstance(on, str | int)):
        raise TypeError(f"pack(on={on!r}): expected a key, a field name or a position")
    if strategy == "split":
        for name, value, usual in (("window", window, None), ("overlong", overlong, "split")):
            if not is_one_of(value, usual):
                raise ValueError(f'pack({name}={value!r}): strategy="split" joins and cuts all documents; omit {name}=')
    if window is not None:
        window = check_count("pack", "window", window, least=1)
    pad = check_count("pack", "pad", pad, least=-(1 << 63))
    keep = check_flag("pack", "keep_positions", keep_positions)
    if not is_one_of(remainder, "pad", "drop"):
        raise ValueError(f'pack(remainder={remainder!r:.80}): sequences have one length; expected "pad" or "drop"')
    if remainder == "drop" and strategy != "split":
        raise ValueError(
            f'pack(remainder="drop"): with strategy={strategy!r} any sequence may have padding, not the last'
        )
    cls = group.pack.PackFull if remainder == "drop" else group.pack.Pack
    plan = cls(source, size, strategy, window, pad, on, overlong, keep)
    _check_spec(plan)
    return plan


def _check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    if not is_one_of(value, *choices):
        expected = ", ".join(f'"{choice}"' for choice in choices[:-1])
        raise ValueError(f'pack({name}={value!r}): expected {expected} or "{choices[-1]}"')


def _check_spec(plan: group.pack.Pack) -> None:
    """Reject elements that are known in advance not to be tokens."""
    try:
        spec = plan.document_spec()
        if isinstance(spec, ArraySpec) and spec.dtype.kind in "iu":
            group.pack.check_pad(plan.pad, spec.dtype)
    except ElementError as error:
        raise PlanError(f"pack(on={plan.key!r}): {error}" if plan.key is not None else str(error)) from None
    if spec is None or (isinstance(spec, ArraySpec) and len(spec.shape) == 1 and spec.dtype.kind in "iu"):
        return
    where = "elements" if plan.key is None else f"{plan.key!r} of elements"
    hint = "; name their part of an element with on=" if plan.key is None and not isinstance(spec, ArraySpec) else ""
    raise PlanError(f"pack(): {where} are {describe(spec)}, not one-dimensional arrays of token ids{hint}")
