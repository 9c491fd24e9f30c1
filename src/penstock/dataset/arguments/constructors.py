"""Constructors that refuse to be called on a dataset, whose elements they would ignore."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    on_the_class = staticmethod
else:

    class on_the_class(staticmethod):  # noqa: N801 - a decorator
        """A static method that raises a `TypeError` if called on an object instead of the class."""

        def __get__(self, instance: object, owner: type | None = None) -> Any:
            return super().__get__(instance, owner) if instance is None else self._refused

        def _refused(self, *args: Any, **settings: Any) -> NoReturn:
            name = self.__wrapped__.__name__
            raise TypeError(f"{name}(): a call on a dataset would ignore its elements; write Dataset.{name}(ds, other)")
