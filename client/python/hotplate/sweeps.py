"""One call for many values of its parameters: a sweep is one job of many tasks on the daemon."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence

import numpy as np

from .arguments import count, shown
from .errors import InvalidCall, InvalidType
from .receipt import Receipt

if TYPE_CHECKING:
    from .calls import Call, Plan

MOST_TASKS = 1_000_000


class SweepResult(Mapping[str, Any]):
    """The results of a sweep, by the names of the kernel's outputs: also as attributes, and with one output as an array.

    Each output is an array whose first axes are those of the sweep, in the order of the parameters, and whose last ones are
    those of the kernel's output.

    Attributes:
        axes: the values of each parameter, as arrays, in the order of the axes.
        counts: a dict of total, completed and failed tasks.
        failures: the first tasks that failed, at most 16: dicts of task (its number, the last parameter varying fastest),
            values, error (a dict with a message) and timed_out. A failed task has NaN in the arrays, or 0.
        failed: the numbers of all tasks without a result.
        receipt: the job's; its kernel_ns is the sum over the tasks.

    Example:
        >>> s = gpu.sweep("integrate2d", n=range(1, 1001))
        >>> s.value[s.axes["n"] == 10]
    """

    def __init__(self, outputs: Mapping[str, Any], axes: Mapping[str, np.ndarray[Any, Any]], outcome: Mapping[str, Any],
                 receipt: Receipt) -> None:
        self._outputs = dict(outputs)
        self.axes = dict(axes)
        self.counts = {name: outcome["counts"][name] for name in ("total", "completed", "failed")}
        self.failures = list(outcome["failures"])
        self._incomplete = [(one["first"], one["count"]) for one in outcome["incomplete"]]
        self.receipt = receipt

    @property
    def failed(self) -> np.ndarray[Any, Any]:
        """The numbers of the tasks without a result."""
        parts = [np.arange(first, first + number) for first, number in self._incomplete]
        return np.concatenate(parts) if parts else np.arange(0)

    def __getitem__(self, name: str) -> Any:
        return self._outputs[name]

    def __iter__(self) -> Any:
        return iter(self._outputs)

    def __len__(self) -> int:
        return len(self._outputs)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_outputs"][name]
        except KeyError:
            raise AttributeError(f"a sweep's result has no {name!r}; its outputs: "
                                 f"{', '.join(self.__dict__.get('_outputs', {}))}") from None

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> np.ndarray[Any, Any]:
        if len(self._outputs) != 1:
            raise InvalidType(f"this sweep has {len(self._outputs)} outputs ({', '.join(self._outputs)}): take one of them")
        output = next(iter(self._outputs.values()))
        return np.asarray(output, dtype=dtype) if copy is None else np.array(output, dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {getattr(value, 'shape', '')}" for name, value in self._outputs.items())
        failed = f", {self.counts['failed']} failed" if self.counts["failed"] else ""
        return f"<SweepResult of {self.counts['total']} tasks{failed}: {shapes}>"


def is_swept(value: Any) -> bool:
    """Whether an argument of a parameter is several values."""
    return isinstance(value, (range, list, tuple)) or (isinstance(value, np.ndarray) and value.ndim > 0)


def axis_of(plan: Plan, name: str, values: Any) -> tuple[str, Any, np.ndarray[Any, Any]]:
    """The axis as `_core` takes it, and its values."""
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise InvalidCall(f"{plan.name}: {name} has {values.ndim} axes; a sweep is over the values of a list or of an array "
                          "with one axis")
    if len(values) == 0:
        raise InvalidCall(f"{plan.name}: {name} has no values: the sweep has 0 tasks")
    if len(values) > MOST_TASKS:
        raise InvalidCall(f"{plan.name}: {name} has {len(values)} values; a sweep has at most {MOST_TASKS} tasks")
    param = plan.keywords[name]
    if isinstance(values, range):
        param.convert(values[0])
        return param.name, (values.start, values.step, len(values)), np.asarray(values)
    converted = [param.convert(value) for value in values]
    return param.name, converted, np.asarray(converted)


def prepared(plan: Plan, client: Any, inputs: Sequence[Any], keywords: dict[str, Any], max_fails: Optional[int],
             retries: int) -> tuple[Call, dict[str, np.ndarray[Any, Any]]]:
    """The call of a sweep, and the values of its axes."""
    swept = [name for name in keywords if name in plan.keywords and is_swept(keywords[name])]
    if not swept:
        plan.prepare(client, inputs, dict(keywords))  # an argument that is unknown says more
        raise InvalidType(f"{plan.name}: a sweep needs the values of one parameter at least, as in "
                          f"{next(iter(plan.keywords), 'n')}=range(1, 11); its parameters: "
                          f"{', '.join(plan.keywords) or 'it has none'}")
    axes = [axis_of(plan, name, keywords[name]) for name in swept]
    tasks = math.prod(len(values) for _, _, values in axes)
    if tasks > MOST_TASKS:
        raise InvalidCall(f"{plan.name}: {' x '.join(shown(len(values)) for _, _, values in axes)} values are {tasks} tasks; "
                          f"a sweep has at most {MOST_TASKS}")
    # A call of the first task, which has all other faults that a call can have.
    first = {**keywords, **{name: keywords[name][0] for name in swept}}
    call = plan.prepare(client, inputs, first)
    params = dict(call.options.params)
    for name, _, _ in axes:
        params.pop(name, None)
    call.options.params = params
    call.options.sweep = {
        "axes": [(name, values) for name, values, _ in axes],
        "most_failed": None if max_fails is None else count("max_fails", max_fails, MOST_TASKS),
        "retries": count("retries", retries, 100),
    }
    return call, {name: values for name, _, values in axes}


def finished(plan: Plan, call: Call, result: Any, values: dict[str, np.ndarray[Any, Any]]) -> SweepResult:
    """The Python value of a sweep's result."""
    value = call.finish(result)
    outputs = {plan.outputs[0]: value} if len(plan.outputs) == 1 else {
        name: getattr(value, name) for name in plan.outputs if getattr(value, name) is not None}
    grid = tuple(len(axis) for axis in values.values())
    shaped = {name: one.reshape(grid + one.shape[1:]) if isinstance(one, np.ndarray) else one
              for name, one in outputs.items()}
    return SweepResult(shaped, values, result.sweep(), Receipt.of_result(result))
