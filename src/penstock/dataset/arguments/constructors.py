"""Constructors that say so where they are called on a dataset, whose elements they would leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    on_the_class = staticmethod
else:

    class on_the_class(staticmethod):  # noqa: N801 - a decorator
        """A static method that is a `TypeError` where it is called on an object in place of the class."""

        def __get__(self, instance: object, owner: type | None = None) -> Any:
            return super().__get__(instance, owner) if instance is None else self._refused

        def _refused(self, *args: Any, **settings: Any) -> NoReturn:
            name = self.__wrapped__.__name__
            raise TypeError(
                f"{name}(): called on a dataset it would leave out its elements; write Dataset.{name}(ds, other)"
            )
