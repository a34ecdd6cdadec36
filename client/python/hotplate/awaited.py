"""Arguments that are results yet to come: futures of other calls."""

from __future__ import annotations

import sys
import threading
from typing import Any, Callable, Collection, Iterable, Mapping, Sequence

from . import _core
from .connection import Connection, graph_of
from .errors import Busy, InvalidType, NotFound


def check_each_is_one(futures: Iterable[Any]) -> None:
    """Raises InvalidType for a future of several results, of which a kernel takes one."""
    for future in futures:
        if names := future._names():
            raise InvalidType(f"that call has the results {', '.join(names)}: pass one of them, future.output({names[0]!r})")


def futures_in(inputs: Iterable[Any], keywords: Mapping[str, Any]) -> list[Any]:
    """The futures among a call's arguments.

    Raises:
        InvalidType: a future of another library.
    """
    loaded = sys.modules.get("concurrent.futures")
    if loaded is None:  # nobody has made one
        return []
    found = [value for value in (*inputs, *keywords.values()) if isinstance(value, loaded.Future)]
    for future in found:
        if not is_ours(future):
            raise InvalidType(f"a {type(future).__name__} is no result: pass its .result(), or a future of gpu.submit")
    return found


def first_of(kinds: Any, value: Any, depth: int = 0) -> Any:
    """The first object of some kinds in a value, as far as it is in none but small containers; else None."""
    if isinstance(value, kinds):
        return value
    if depth > 4 or not isinstance(value, (tuple, list, dict, set, frozenset)) or len(value) > 64:
        return None
    found = (first_of(kinds, one, depth + 1) for one in (value.values() if isinstance(value, dict) else value))
    return next((one for one in found if one is not None), None)


def may_be_awaited(client: Connection, arguments: Any) -> bool:
    """Whether results that are yet to come are among the arguments; in the block of a graph they may be anywhere in them."""
    loaded = sys.modules.get("concurrent.futures")
    if loaded is None:  # nobody has made one
        return False
    in_block = bool(client._graphs) and graph_of(client) is not None
    return in_block or first_of((_core.OutputRef, loaded.Future), arguments) is not None


def is_ours(value: Any) -> bool:
    """Whether it is a hotplate.outputs.Awaits, whose module is loaded with the first of them."""
    return hasattr(value, "_reference")


def by_reference(inputs: Sequence[Any], keywords: Mapping[str, Any], arrays: Collection[str]) -> Any:
    """The arguments with what the daemon knows results by that are yet to come; None if it knows one of them not.

    Args:
        arrays: the keywords that are arrays: of others the value is needed here.

    Raises:
        Exception: the error of a future that is done.
    """
    def taken(value: Any) -> Any:
        if not is_ours(value):
            return value
        if value.done():
            return value.result(0)
        return value._reference()

    values = [taken(value) for value in inputs]
    words = {name: taken(value) if name in arrays or not is_ours(value) or value.done() else None
             for name, value in keywords.items()}
    lacks = any(new is None and old is not None for new, old in zip((*values, *words.values()), (*inputs, *keywords.values())))
    return None if lacks else (values, words)


def when_done(futures: Sequence[Any], then: Callable[[], None]) -> None:
    """Calls `then` on a thread of its own when all of them are done."""
    left = len(futures)
    lock = threading.Lock()

    def one_is_done(future: Any) -> None:
        nonlocal left
        with lock:
            left -= 1
            last = left == 0
        if last:
            # This thread may be the library's, which must not wait.
            threading.Thread(target=then, daemon=True).start()

    for future in futures:
        future.add_done_callback(one_is_done)


def is_gone(error: BaseException) -> bool:
    """Whether a call was refused because a result on which it depends has come here instead, and is not there any more."""
    fields = [field for field, _ in getattr(error, "violations", ())]
    return isinstance(error, (NotFound, Busy)) and any(field.startswith("inputs.") for field in fields)


def is_reference(value: Any) -> bool:
    """Whether the daemon alone knows the dtype of an input."""
    return isinstance(value, (_core.PathRef, _core.OutputRef))
