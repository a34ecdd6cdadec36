"""The kernels of a daemon, by name and as methods."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Iterable, Mapping, Optional, Sequence

import numpy as np

from . import _core
from .arguments import shown, text
from .calls import Plan
from .connection import Connection
from .errors import Error, NotFound, UnknownKernel

if TYPE_CHECKING:
    import inspect


class OwnDocs:
    """A docstring that each instance of a class has of its own; the class keeps the one that it was given."""

    def __init__(self, of_class: Optional[str]) -> None:
        self._of_class = of_class

    def __get__(self, instance: Any, owner: type) -> Optional[str]:
        return self._of_class if instance is None else instance.docs()


class Kernel:
    """A kernel of a client's daemon, to be called: what `gpu.matmul` is.

    Example:
        >>> help(gpu.matmul)
        >>> gpu.matmul(a, b)
    """

    __doc__: Any = OwnDocs(__doc__)

    def __init__(self, client: Connection, plan: Plan) -> None:
        self.client = client
        self.plan = plan
        self.name = self.__name__ = self.__qualname__ = plan.name

    def __copy__(self) -> Kernel:
        return self  # as a function does

    def __deepcopy__(self, memo: Any) -> Kernel:
        return self

    def __reduce__(self) -> Any:
        raise TypeError(f"kernel {self.name} is of {self.client!r} and cannot be pickled: pass its name, and connect there")

    def __call__(self, *inputs: Any, **keywords: Any) -> Any:
        client: Any = self.client  # a Client
        return client._called(self.plan, inputs, keywords)

    def run(self, *inputs: Any, **keywords: Any) -> Any:
        """Runs it now, also in the block of a graph.

        Example:
            >>> gpu.matmul.run(a, b)
        """
        return self.plan.prepare(self.client, inputs, keywords).run()

    @property
    def spec(self) -> Mapping[str, Any]:
        """The kernel's spec, as the daemon gave it.

        Example:
            >>> gpu.matmul.spec["summary"]
            'c = a b, the matrix product'
        """
        return self.plan.spec

    @property
    def __signature__(self) -> inspect.Signature:
        return self.plan.signature()

    def docs(self) -> str:
        """The text of help(): arrays with dtypes and shapes, parameters, errors, numerics.

        Example:
            >>> print(gpu.matmul.docs())
        """
        return self.plan.docs()

    def __repr__(self) -> str:
        return f"<kernel {self.name}: {self.plan.spec['summary']}>"


class Kernels(Connection):
    """A connection whose daemon's kernels are methods.

    Example:
        >>> gpu.matmul(a, b)
        >>> sorted(gpu.kernels)
    """

    def __init__(self, core: _core.Client) -> None:
        super().__init__(core)
        self._plans: dict[str, Plan] = {}
        self._all_known = False

    @property
    def kernels(self) -> Mapping[str, Kernel]:
        """All kernels of the daemon, by name.

        Raises:
            ConnectionError: the daemon does not answer.

        Example:
            >>> for name, kernel in gpu.kernels.items(): print(name, kernel.spec["summary"])
        """
        if not self._all_known:
            for spec in self._core.kernels():
                self._plans.setdefault(spec["name"], Plan(spec))
            self._all_known = True
        return {name: Kernel(self, plan) for name, plan in sorted(self._plans.items())}

    def _plan(self, name: str) -> Plan:
        plan = self._plans.get(name)
        if plan is None:
            try:
                plan = Plan(self._core.describe(text("the kernel's name", name)))
            except NotFound as error:
                unknown = UnknownKernel(str(error))
                unknown.code, unknown.violations = error.code, error.violations
                raise unknown from None
            self._plans[name] = plan
        return plan

    def _takes(self, kernel: str, dtype: str) -> bool:
        """Whether the first input of a kernel can have a dtype."""
        _, dtypes = next(iter(self._plan(kernel).rules.values()))
        return any(one.name == dtype for one in dtypes)

    if not TYPE_CHECKING:  # to which _kernels.pyi tells the names, so that it finds `gpu.matmull`

        def __getattr__(self, name):
            if name.startswith("_"):
                raise AttributeError(f"a client has no {name}")
            try:
                kernel = Kernel(self, self._plan(name))
            except UnknownKernel as error:
                write = _elsewhere(name)
                raise AttributeError(f"{self.server} has no kernel {name}: write {write}" if write else str(error)) from None
            # Found at once from now on; by reference of a cycle that the collector knows.
            self.__dict__[name] = kernel
            return kernel

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._names()})

    def _names(self) -> Iterable[str]:
        """The kernels' names; where the daemon cannot be asked, of those that were."""
        try:
            return self.kernels
        except (Error, RuntimeError):
            return list(self._plans)


# Names that people look for on a client, and how to write them. NumPy's other functions are found by their names.
_ELSEWHERE = {
    "asnumpy": "A.numpy()", "asarray": "gpu.array(x)", "to_device": "gpu.array(x)", "jit": "gpu.function(f)",
    "einsum": "gpu.function(numpy.einsum)(subscripts, a, b)", "identity": "gpu.eye(n)", "nonzero": "hp.xp.nonzero(gpu.array(x))",
    "cumsum": "gpu.scan(x)", "cumprod": "gpu.scan(x, operation='prod')", "ifft": "gpu.fft(x, transform='ifft')",
    "rfft": "gpu.fft(x, transform='rfft')", "irfft": "gpu.fft(x, transform='irfft')", "fft2": "gpu.fft(x, axes=2)",
}


def _elsewhere(name: str) -> str:
    """How to write a name that is no kernel's; empty if that is not known."""
    if name in _ELSEWHERE:
        return _ELSEWHERE[name]
    from . import xp

    for module, where in ((xp, "hp.xp"), (xp.linalg, "hp.xp.linalg")):
        if name in module.__all__ and callable(getattr(module, name)):
            return f"{where}.{name}(…), of arrays on the daemon: gpu.array(x)"
    for module, where in ((np, "numpy"), (np.linalg, "numpy.linalg")):
        if callable(getattr(module, name, None)):
            return f"gpu.function({where}.{name})(…)"
    return ""


def resolve(client: Kernels, kernel: Any, inputs: Sequence[Any], keywords: dict[str, Any],
            returns: Optional[str] = None) -> tuple[Plan, Sequence[Any], dict[str, Any]]:
    """The plan of what is to be called, and all its arguments. `returns`: of a function of the caller's own.

    Raises:
        TypeError: it is neither a kernel nor a function.
        KeyError: the daemon has no kernel of that name.
        ValueError: a kernel of another client.
    """
    if type(kernel) is Kernel:
        if kernel.client is not client:
            raise ValueError(f"{kernel!r} is of {kernel.client!r}, not of {client!r}: take {kernel.name!r}, or that "
                             "client")
        return kernel.plan, inputs, keywords
    if isinstance(kernel, str):
        return client._plan(kernel), inputs, keywords
    if isinstance(kernel, functools.partial):
        return resolve(client, kernel.func, (*kernel.args, *inputs), {**kernel.keywords, **keywords}, returns)
    if callable(kernel):
        function = sent_once(client, kernel, returns)
        if function._client is not client:
            raise ValueError(f"{kernel!r} is not of {client!r}: make it there, by its function")
        return function, inputs, keywords
    raise TypeError(f"{shown(kernel)} is a {type(kernel).__name__}: pass a kernel (gpu.matmul), its name, or a function of "
                    "your own")


def sent_once(client: Kernels, kernel: Any, returns: Optional[str] = None) -> Any:
    """A function of the caller's own as one that many calls share; anything else as it is."""
    if isinstance(kernel, (str, Kernel, functools.partial)) or not callable(kernel):
        return kernel
    from .functions import Function

    return kernel if isinstance(kernel, Function) else Function(client, kernel, returns=returns)
