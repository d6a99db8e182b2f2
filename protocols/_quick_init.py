# A frozen attrs class sets its fields one call at a time, past its own ban on setting them. For
# ten fields that is a microsecond: more than all the rest of a message costs, and messages and
# updates are made by the thousand.
#
# So the object is made a mutable one for a moment: a class with the same bases and slots, and
# without the ban, lends it its name while the fields are set by plain stores, which the
# interpreter does in a few nanoseconds each. Python allows that change between classes of one
# layout. Everything that may raise, a converter, is called before; nobody gets to see the object
# in between. An object of a subclass has another layout, or must stay what it is, and is made by
# what attrs has written.
"""An ``__init__`` for frozen attrs classes that are made very often."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

T = TypeVar("T")

_FACTORY: Final[Any] = attrs.Factory

_BODY: Final = """
def {name}(self, {parameters}):
    if _kind(self) is not _own:
        return _careful(self, {handed_on})
    {conversions}
    _set(self, "__class__", _open)
    {stores}
    self.__class__ = _own
"""


def quickly_made(cls: type[T]) -> type[T]:
    """Replace what attrs has written to fill objects of *cls*, by what takes a sixth of the time.

    It is made with the first object: an import has no use for it.

    Args:
        cls: a frozen attrs class with slots; no validators, nothing to do after its init.
    """
    name = "__attrs_init__" if "__attrs_init__" in vars(cls) else "__init__"
    careful = vars(cls)[name]
    _check(cls)

    @functools.cache
    def made() -> Any:
        return _made(cls, name, careful)

    @functools.wraps(careful)
    def make_first(self: T, *args: Any, **kwargs: Any) -> None:
        # Somebody may have put something around this by then, which stays where it is.
        if vars(cls)[name] is make_first:
            setattr(cls, name, made())
        made()(self, *args, **kwargs)

    setattr(cls, name, make_first)
    return cls


def _check(cls: type[Any]) -> None:
    fields: tuple[Any, ...] = attrs.fields(cls)
    assert "__slots__" in vars(cls), f"{cls.__name__} has no slots"
    assert not any(each.validator for each in fields), f"{cls.__name__} has validators"
    assert not any(isinstance(each.default, _FACTORY) for each in fields), (
        f"{cls.__name__} has factories"
    )
    assert not any(isinstance(each.converter, attrs.Converter) for each in fields), (
        f"{cls.__name__} has converters that want more than a value"
    )
    assert not any(each.converter and not each.init for each in fields), (
        f"{cls.__name__} converts what nobody gives"
    )
    assert not hasattr(cls, "__attrs_post_init__"), f"{cls.__name__} does more after its init"
    assert "_attrs_cached_hash" not in dir(cls), f"{cls.__name__} keeps its hash"


def _made(cls: type[Any], name: str, careful: Any) -> Any:
    fields: tuple[Any, ...] = attrs.fields(cls)
    given = [each for each in fields if each.init]
    source = _BODY.format(
        name=name,
        parameters=", ".join(_parameters(given)),
        handed_on=", ".join(
            f"{each.alias}={each.alias}" if each.kw_only else str(each.alias) for each in given
        ),
        conversions="\n    ".join(
            f"{each.alias} = _made_{each.name} if {each.alias} is _default_{each.name} "
            f"else _to_{each.name}({each.alias})"
            for each in given
            if each.converter
        )
        or "pass",
        stores="; ".join(
            f"self.{each.name} = {each.alias if each.init else f'_default_{each.name}'}"
            for each in fields
        ),
    )
    known: dict[str, Any] = {"_own": cls, "_open": opened(cast("Any", cls)), "_careful": careful}
    known |= {"_kind": type, "_set": object.__setattr__}
    for each in fields:
        known[f"_default_{each.name}"] = each.default
        if each.converter:
            known[f"_to_{each.name}"] = each.converter
            is_given = each.default is not attrs.NOTHING
            known[f"_made_{each.name}"] = each.converter(each.default) if is_given else None
    exec(source, known)  # noqa: S102  # as attrs does it, from the names of fields
    return functools.update_wrapper(known[name], careful)


def _parameters(given: Iterable[Any]) -> Iterator[str]:
    is_named = False
    for each in sorted(given, key=lambda each: each.kw_only):
        if each.kw_only and not is_named:
            is_named = True
            yield "*"
        has_default = each.default is not attrs.NOTHING
        yield f"{each.alias}=_default_{each.name}" if has_default else each.alias


@functools.cache
def opened(cls: type[Any]) -> Any:
    """Return a class with the layout of *cls* and without its ban.

    Whoever makes an object of it gives it all fields, and makes it one of *cls* with its last
    store, ``made.__class__ = cls``.
    """
    copied = {
        name: vars(cls)[name] for name in ("__slots__", "__orig_bases__") if name in vars(cls)
    }
    body = {**copied, "__module__": cls.__module__}
    # Both, or the ban that a base has on one of them makes the other slow, too.
    body |= {"__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    kind: Any = type(cls)
    return kind(cls.__name__, cls.__bases__, body)
