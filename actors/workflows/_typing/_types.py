"""What a declared type means: for one value, along an edge, and beside another type.

A handler declares what it takes with an ordinary annotation. Three questions are asked about
such a declaration, and all of them are answered here, without running anybody's code:

- does this value match (``is_instance_of``)? Asked for each message.
- may values of that type go where this type is wanted (``is_type_compatible``)? Asked when a
  workflow is built, and gradual: what can't be known then is let through.
- is this type narrower than that one (``is_narrower``)? Asked once for each pair of handlers,
  so that a message goes to the most specific of those that take it. This one is strict.
"""

from __future__ import annotations

import abc
import functools
import typing
from collections.abc import Callable, Iterable
from typing import (
    Any,
    Final,
    Literal,
    Never,
    NoReturn,
    cast,
    get_args,
    get_origin,
)

import attrs

from actors.workflows._typing._type_forms import UNIONS, describe_type, unwrap
from protocols._frozen import FrozenList
from protocols._log import Log

# What our values hold instead of a list (it equals one, but is immutable) goes where a list is
# wanted: code written for MAF sends `response.messages` on to a handler of `list[Message]`.
LIST_LIKE: Final[tuple[type, ...]] = (list, FrozenList, Log)

_NOTHING: Final = (Never, NoReturn)
_ANYTHING: Final = (Any, object)


@attrs.frozen
class TypeTest:
    """A declared type, made ready for being asked about many values.

    Args:
        matches: says whether a value is of the type.
        classes: only instances of these can match.
        by_value: whether two instances of one class can get different answers, so that the
            answer must not be remembered by class.
    """

    matches: Callable[[Any], bool]
    classes: tuple[type, ...]
    by_value: bool = False

    def may_match(self, kind: type) -> bool:
        """Say whether some instance of *kind* can match."""
        return not self.by_value or issubclass(kind, self.classes)


def is_instance_of(value: object, declared: Any) -> bool:
    """Say whether *value* is of the *declared* type, looking into containers.

    Raises:
        TypeError: values can't be checked against *declared*.
    """
    return type_test(declared).matches(value)


def type_test(declared: Any) -> TypeTest:
    """Make *declared* ready for being asked about many values.

    Raises:
        TypeError: values can't be checked against *declared*.
    """
    return _test_of(unwrap(declared))


@functools.lru_cache(maxsize=4096)
def _test_of(declared: Any) -> TypeTest:
    origin: Any = get_origin(declared)
    if declared is Any:
        return TypeTest(lambda _: True, (object,))
    if declared in _NOTHING:
        return TypeTest(lambda _: False, ())
    if origin in UNIONS:
        return _any_of([type_test(member) for member in get_args(declared)])
    if origin is Literal:
        return _one_of(get_args(declared))
    if origin is not None:
        return _test_of_generic(origin, get_args(declared))
    if isinstance(declared, type):
        return _test_of_class(declared)
    raise TypeError(f"{describe_type(declared)} is no type that values can be checked against")


def _any_of(tests: list[TypeTest]) -> TypeTest:
    checks = [test.matches for test in tests]
    return TypeTest(
        lambda value: any(matches(value) for matches in checks),
        tuple(dict.fromkeys(kind for test in tests for kind in test.classes)),
        by_value=any(test.by_value for test in tests),
    )


def _one_of(values: tuple[Any, ...]) -> TypeTest:
    # The exact class counts: True is not Literal[1], though the two are equal.
    allowed = frozenset((type(value), value) for value in values)
    classes = tuple({type(value) for value in values})

    def matches(value: Any) -> bool:
        return type(value) in classes and (type(value), value) in allowed

    return TypeTest(matches, classes, by_value=True)


def _test_of_class(declared: type) -> TypeTest:
    if typing.is_typeddict(declared):
        required = cast("Any", declared).__required_keys__
        return TypeTest(
            lambda value: isinstance(value, dict) and required <= value.keys(), (dict,), True
        )
    if getattr(declared, "_is_protocol", False):
        if not getattr(declared, "_is_runtime_protocol", False):
            raise TypeError(
                f"{describe_type(declared)} is a protocol that values can't be checked against: "
                "decorate it with @typing.runtime_checkable"
            )
        # A protocol with data members looks at the instance, not at its class.
        return TypeTest(lambda value: isinstance(value, declared), (object,), by_value=True)
    if type(declared).__instancecheck__ is type.__instancecheck__:
        # Bound, it is what isinstance asks, and a list is checked without any code of ours.
        return TypeTest(type.__instancecheck__.__get__(declared), (object,))
    return TypeTest(
        lambda value: isinstance(value, declared), (object,), by_value=_looks_at_value(declared)
    )


def _looks_at_value(declared: type) -> bool:
    # Abstract base classes (pydantic's models are among them) answer by class; of any other
    # metaclass with a check of its own nothing is known.
    checks_itself = type(declared).__instancecheck__ is not type.__instancecheck__
    return checks_itself and not isinstance(declared, abc.ABCMeta)


def _test_of_generic(origin: type, args: tuple[Any, ...]) -> TypeTest:
    if not args:  # typing.List and its like
        return _test_of_class(origin)
    if origin is list:
        return _each(LIST_LIKE, args)
    if origin in {set, frozenset}:
        return _each((origin,), args)
    if origin is dict:
        return _each_pair(type_test(args[0]), type_test(args[1]))
    if origin is tuple:
        return _each_position(args)
    # Nothing is known about the inside of somebody's generic class.
    return _test_of_class(origin)


def _each(containers: tuple[type, ...], args: tuple[Any, ...]) -> TypeTest:
    item = type_test(args[0]).matches
    # More than an annotation, here it would be a call.
    checked: Any = containers

    def matches(value: Any) -> bool:
        return isinstance(value, checked) and all(map(item, value))

    return TypeTest(matches, containers, by_value=True)


def _each_pair(key: TypeTest, item: TypeTest) -> TypeTest:
    def matches(value: Any) -> bool:
        return isinstance(value, dict) and all(
            key.matches(name) and item.matches(each) for name, each in value.items()
        )

    return TypeTest(matches, (dict,), by_value=True)


def _each_position(args: tuple[Any, ...]) -> TypeTest:
    if args[1:] == (Ellipsis,):
        return _each((tuple,), args)
    items = [type_test(arg).matches for arg in args]

    def matches(value: Any) -> bool:
        return (
            isinstance(value, tuple)
            and len(value) == len(items)
            and all(item(each) for item, each in zip(items, value, strict=True))
        )

    return TypeTest(matches, (tuple,), by_value=True)


# ------------------------------------------------------------------ one type and another


def is_type_compatible(source: Any, target: Any) -> bool:
    """Say whether values declared as *source* may go where *target* is wanted.

    This is assignability, without promotions (an int is no float at run time). Both ``Any``
    and a container without parameters go anywhere, since their values may turn out to fit.
    """
    return _fits(source, target, gradual=True)


def is_narrower(one: Any, other: Any) -> bool:
    """Say whether *one* is strictly more specific than *other*: each value of it is an *other*."""
    return _fits(one, other, gradual=False) and not _fits(other, one, gradual=False)


def is_equivalent(one: Any, other: Any) -> bool:
    """Say whether two declarations take the same values."""
    return _fits(one, other, gradual=False) and _fits(other, one, gradual=False)


def _fits(source: Any, target: Any, *, gradual: bool) -> bool:
    source, target = unwrap(source), unwrap(target)
    if target in _ANYTHING or source in _NOTHING or source == target:
        return True
    if source is Any:
        return gradual
    if get_origin(source) in UNIONS:
        return all(_fits(member, target, gradual=gradual) for member in get_args(source))
    if get_origin(target) in UNIONS:
        return any(_fits(source, member, gradual=gradual) for member in get_args(target))
    if get_origin(source) is Literal:
        return _literals_fit(get_args(source), target, gradual=gradual)
    return _classes_fit(source, target, gradual=gradual)


def _literals_fit(values: tuple[Any, ...], target: Any, *, gradual: bool) -> bool:
    if get_origin(target) is Literal:
        return all(is_instance_of(value, target) for value in values)
    return all(_fits(type(value), target, gradual=gradual) for value in values)


def _classes_fit(source: Any, target: Any, *, gradual: bool) -> bool:
    source_class = get_origin(source) or source
    target_class = get_origin(target) or target
    if not (isinstance(source_class, type) and isinstance(target_class, type)):
        return False
    try:
        if not issubclass(source_class, target_class):
            return False
    except TypeError:  # a protocol with data members, or a TypedDict: its class doesn't tell
        return gradual
    return _args_fit(source_class, get_args(source), get_args(target), gradual=gradual)


def _args_fit(
    container: type, source: tuple[Any, ...], target: tuple[Any, ...], *, gradual: bool
) -> bool:
    if not target:
        return True
    if not source:
        return gradual  # a bare list is a list of who knows what
    if container is tuple:
        return _positions_fit(source, target, gradual=gradual)
    if len(source) != len(target) or not all(map(_is_type, (*source, *target))):
        # A generic that derives from another with other parameters, or a callable.
        return True
    return _all_fit(zip(source, target, strict=True), gradual=gradual)


def _positions_fit(source: tuple[Any, ...], target: tuple[Any, ...], *, gradual: bool) -> bool:
    if target[-1] is Ellipsis:
        items = source[:1] if source[-1] is Ellipsis else source
        return _all_fit(((item, target[0]) for item in items), gradual=gradual)
    if source[-1] is Ellipsis or len(source) != len(target):
        return False
    return _all_fit(zip(source, target, strict=True), gradual=gradual)


def _all_fit(pairs: Iterable[tuple[Any, Any]], *, gradual: bool) -> bool:
    return all(_fits(source, target, gradual=gradual) for source, target in pairs)


def _is_type(declared: Any) -> bool:
    return not isinstance(declared, list) and declared is not Ellipsis
