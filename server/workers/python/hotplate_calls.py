"""A worker: it runs functions of a user's, one call after the other (server/workers/call_message.h), and stays for the next.

hotplated starts it as `PYTHON hotplate_calls.py SOCKET`, or has it forked from a warm Python (hotplate_worker.py). It is one
file of pure standard library, for Python 3.9 and later; NumPy is used if it is there.
"""

import array
import builtins
import contextlib
import fcntl
import importlib
import io
import linecache
import mmap
import os
import pickle
import resource
import signal
import socket
import struct
import sys
import traceback
import types

INLINE = 32 << 10
MOST_MESSAGE = 160 << 10
MOST_ARRAYS = 63
MOST_REFS = 256
MOST_AXES = 8
DTYPES = {1: "bool", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "uint8", 7: "uint16", 8: "uint32", 9: "uint64",
          10: "float16", 11: "bfloat16", 12: "float32", 13: "float64", 14: "complex64", 15: "complex128"}
NUMBERS = {name: number for number, name in DTYPES.items()}
CALL, RESULT, ERROR, PROGRESS, INTERRUPTED, FORGET = 1, 1, 2, 3, 4, 5
HEAD = struct.Struct("=IIIIQQ64s")
MOST_KEPT = 64 << 20  # of a result's memory, beyond four times what is needed now
# What a client rebuilds without asking any module.
PLAIN = (complex, bytearray, range, slice, set, frozenset)
STAMPS = {}  # of modules, as they were imported for a graph
COMMON = frozenset((type(None), bool, int, float, str, bytes, tuple, list, dict))


class Refused(TypeError):
    """Said of a call before its function runs, or of its result."""


def map_segment(number):
    try:
        return memoryview(mmap.mmap(number, 0, access=mmap.ACCESS_READ))
    finally:
        os.close(number)


def result_segment(size):
    segment = open(os.memfd_create("hotplate-result", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), "r+b", buffering=0)
    segment.truncate(size)
    fcntl.fcntl(segment, getattr(fcntl, "F_ADD_SEALS", 1033), 2)  # F_SEAL_SHRINK: the daemon may read it safely
    return segment, memoryview(mmap.mmap(segment.fileno(), size))


def aligned(place):
    return (place + 63) // 64 * 64


def numpy():
    try:
        import numpy
    except ImportError:
        raise Refused(f"{sys.executable} has no NumPy, which arrays need: install it there") from None
    return numpy


class Calls:
    """A worker: runs one call after the other."""

    def __init__(self, channel):
        self.channel = channel
        self.pid = os.getpid()
        self.functions = {}
        self.objects = {}  # those that stay, by their numbers
        self.numbers = {}  # of them, by their ids
        self.next_number = 1
        self.calling = False
        self.room = bytearray(MOST_MESSAGE)
        self.result = None  # a segment, and its memory

    def serve(self):
        signal.signal(signal.SIGINT, self.interrupt)
        sys.argv[:] = [""]
        sys.path.insert(0, "")
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(line_buffering=True)
        while True:
            message, segments = self.receive()
            if not message:
                return
            if int.from_bytes(message[:4], sys.byteorder) == FORGET:
                self.forget(message)
                continue
            before = self.use()
            reply = self.answer(message, segments)
            if os.getpid() != self.pid:
                os._exit(0)  # a fork of the function's, which comes back here as well
            self.flush()
            self.send(reply, before)

    def interrupt(self, number, frame):
        if os.getpid() == self.pid:
            # So that the daemon knows that it will not hit the next call.
            try:
                self.channel.send(struct.pack("=II", INTERRUPTED, 0), socket.MSG_DONTWAIT)
            except OSError:
                pass
        if self.calling:
            raise KeyboardInterrupt

    def forget(self, message):
        count = int.from_bytes(message[4:8], sys.byteorder)
        for number in struct.unpack_from(f"={count}Q", message, 8):
            if number in self.objects:
                del self.numbers[id(self.objects[number])]
                del self.objects[number]  # whose end may print, or raise what nobody hears

    def keep(self, objects):
        """Their numbers and types."""
        kept = []
        for one in objects:
            number = self.numbers.get(id(one))
            if number is None:
                number = self.numbers[id(one)] = self.next_number
                self.objects[number] = one
                self.next_number += 1
            kept.append((number, type_name(one)))
        return kept

    def receive(self):
        size, ancillary, _, _ = self.channel.recvmsg_into([self.room], socket.CMSG_SPACE(4 * (MOST_ARRAYS + 2)),
                                                          socket.MSG_CMSG_CLOEXEC)
        segments = array.array("i")
        for level, kind, content in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                segments.frombytes(content[:len(content) - len(content) % segments.itemsize])
        return bytes(self.room[:size]), segments

    def flush(self):
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:  # the function has closed it
                pass

    def use(self):
        used = resource.getrusage(resource.RUSAGE_SELF)
        return used.ru_utime, used.ru_stime, used.ru_maxrss * 1024

    def answer(self, message, segments):
        """The reply's kind, arrays, text, and numbers and types of objects that stay."""
        try:
            self.calling = True  # also for what arguments and results do as they are pickled
            function, inputs = self.read(message, segments)
            options, args, kwargs = Unpacker(inputs[0], inputs[1:]).load()
            name = getattr(function, "__name__", "the function")
            if "method" in options:
                function, args, name = method_of(args[0], options["method"]), args[1:], options["method"]
            with told_bars(self.progress) if options.get("bars") else contextlib.nullcontext():
                value = function(*args, **kwargs)
            arrays, text, objects = pack(value, options, name)
            self.calling = False
            return RESULT, arrays, text, self.keep(objects)
        except BaseException as error:  # SystemExit too: it ends the call alone
            self.calling = False
            return ERROR, [], error_text(error), []

    def read(self, message, segments):
        """The function, and the inputs: the first as read-only memory, the others as arrays, or objects that are here."""
        mapped = [map_segment(segment) for segment in segments]
        _, count, in_segment, _, code_bytes, code_at, name = HEAD.unpack_from(message)
        place = HEAD.size
        described = []
        for _ in range(count):
            dtype, rank, begin, size = struct.unpack_from("=iIqQ", message, place)
            place += struct.calcsize("=iIqQ")
            described.append((DTYPES.get(dtype), struct.unpack_from(f"={rank}q", message, place), begin, size))
            place += 8 * rank
        data = mapped.pop(0) if in_segment else memoryview(message)[place:]
        if code_bytes:
            self.functions[name] = bytes(data[code_at:code_at + code_bytes])
        inputs = []
        for dtype, shape, begin, size in described:
            if dtype is None:
                inputs.append(Here(self.objects[begin]))
                continue
            its = mapped.pop(0)[:size] if begin < 0 else data[begin:begin + size]
            inputs.append(array_of(its, dtype, shape) if inputs else its)
        function = self.functions[name]
        if isinstance(function, bytes):
            function = self.functions[name] = function_of(function)
        return function, inputs

    def send(self, reply, before):
        kind, arrays, text, kept = reply
        used = self.use()
        use = struct.pack("=qqQ", int((used[0] - before[0]) * 1e9), int((used[1] - before[1]) * 1e9), used[2])
        if kind == ERROR:
            self.channel.send(struct.pack("=II", ERROR, 0) + use + text)
            return
        places, size = [], len(text)
        for one in arrays:
            size = aligned(size)
            places.append(size)
            size += one.nbytes
        head = struct.pack("=II", RESULT, 1 + len(arrays)) + use + describe("uint8", (len(text),), 0, len(text))
        head += b"".join(describe(one.dtype.name, one.shape, place, one.nbytes) for one, place in zip(arrays, places))
        head += struct.pack("=I", len(kept))
        for number, name in kept:
            head += struct.pack("=QI", number, len(name)) + name
        if size <= INLINE:
            data = bytearray(size)
            fill(memoryview(data), text, arrays, places)
            self.channel.send(head + data)
            return
        # The daemon has copied the last result before it sends the next call: its memory serves again, which is many times
        # faster than new memory.
        if self.result is None or len(self.result[1]) < size or len(self.result[1]) > 4 * size + MOST_KEPT:
            self.result = result_segment(size)
        segment, memory = self.result
        fill(memory, text, arrays, places)
        self.channel.sendmsg([head], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [segment.fileno()]))])

    def progress(self, fraction):
        self.channel.send(struct.pack("=IId", PROGRESS, 0, fraction))


@contextlib.contextmanager
def told_bars(progress):
    """tqdm's bars tell the caller, who has a bar of its own, in place of drawing: the outermost alone."""
    try:
        from tqdm.std import tqdm
    except ImportError:
        tqdm = None
    if tqdm is None:  # not in the handler, which would be told with the function's own exceptions
        yield
        return
    begin, display = tqdm.__init__, tqdm.display

    def begin_silent(bar, *args, **kwargs):
        if len(args) < 5:  # file is the fifth
            kwargs.setdefault("file", io.StringIO())
        begin(bar, *args, **kwargs)

    def tell(bar, *args, **kwargs):
        if bar.total and not getattr(bar, "pos", 0):
            progress(min(1.0, bar.n / bar.total))

    tqdm.__init__, tqdm.display = begin_silent, tell
    try:
        yield
    finally:
        tqdm.__init__, tqdm.display = begin, display


def serve(number):
    """Answers the calls that come over this socket, until it closes."""
    calls = Calls(socket.socket(fileno=number))
    # For hotplate.progress, in this process alone and while there is a call.
    told = types.ModuleType("__hotplate_calls__")
    told.progress = lambda fraction: calls.progress(fraction) if calls.calling and os.getpid() == calls.pid else None
    sys.modules[told.__name__] = told
    main = types.ModuleType("__main__")  # functions that name it mean the client's, not this program
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    calls.serve()


class Here:
    """An argument that was here before the call."""

    def __init__(self, value):
        self.value = value


def type_name(one):
    kind = type(one)
    name = kind.__qualname__.rpartition("<locals>.")[2]
    return (name if kind.__module__ in ("builtins", "__main__") else f"{kind.__module__}.{name}").encode()[:200]


def method_of(one, name):
    found = getattr(one, name)
    if not callable(found):
        raise Refused(f"{name} of {type(one).__name__} is a {type(found).__name__} and no method: "
                      f"gpu.function(getattr)(actor, {name!r}) fetches it")
    return found


def describe(dtype, shape, place, size):
    return struct.pack(f"=iIQQ{len(shape)}q", NUMBERS[dtype], len(shape), place, size, *shape)


def fill(memory, text, arrays, places):
    memory[:len(text)] = text
    for one, place in zip(arrays, places):
        if one.nbytes:
            numpy().frombuffer(memory, one.dtype, one.size, place).reshape(one.shape)[...] = one


def array_of(data, dtype, shape):
    np = numpy()
    if dtype == "bfloat16":
        try:
            import ml_dtypes
        except ImportError:
            raise Refused("an array of bfloat16 needs the package ml_dtypes, which is not there") from None
        kind = ml_dtypes.bfloat16
    else:
        kind = dtype
    if not data.nbytes:
        made = np.empty(shape, kind)
        made.flags.writeable = False
        return made
    return np.frombuffer(data, kind).reshape(shape)


def function_of(code):
    """The function that a client has packed (hotplate/function_code.py)."""
    packed = pickle.loads(code)
    for path in packed["path"]:
        if path not in sys.path:
            sys.path.append(path)
    if "source" in packed:
        return function_of_source(**packed["source"])
    if "module" in packed:
        return function_of_module(**packed["module"])
    if "by_name" in packed:
        return pickle.loads(packed["by_name"])
    ours, theirs = list(sys.version_info[:2]), list(packed["python"])
    if ours != theirs:  # the interpreter was replaced since the client was told its version
        raise Refused(
            f"{packed['name']} comes from Python {theirs[0]}.{theirs[1]}, and the worker is Python {ours[0]}.{ours[1]} "
            f"({sys.executable}): connect anew")
    try:
        import cloudpickle  # noqa: F401
    except ImportError:
        for name, source in packed["cloudpickle"].items():
            module = types.ModuleType(name)
            module.__path__ = []
            sys.modules[name] = module
            exec(compile(source, f"<{name} of the client>", "exec"), module.__dict__)
    return pickle.loads(packed["pickle"])


def function_of_module(name, function, stamp):
    """A function of a module in this folder. If the module's file was edited, which its stamp tells, it is imported anew."""
    if STAMPS.get(name) != stamp:
        sys.modules.pop(name, None)
        importlib.invalidate_caches()
    found = importlib.import_module(name)
    STAMPS[name] = stamp
    for part in function.split("."):
        found = getattr(found, part)
    return found


def function_of_source(name, module, texts, imports, values):
    """A function whose text comes from a Python of another version (hotplate/by_source.py)."""
    variables = {"__builtins__": builtins, "__name__": module}
    for variable, imported in imports.items():
        variables[variable] = importlib.import_module(imported)
    others, defaults = pickle.loads(values)
    variables.update(others)
    for one, text in texts.items():
        file = f"<{one} of the client>"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)  # for tracebacks
        try:
            exec(compile(text, file, "exec", dont_inherit=True), variables)
        except SyntaxError as error:
            raise Refused(f"{one} is not Python {sys.version_info[0]}.{sys.version_info[1]} ({sys.executable}): {error.msg}: "
                          f"{(error.text or '').strip()}") from None
        variables[one].__defaults__, variables[one].__kwdefaults__ = defaults[one]
    return variables[name]


def converted(value, options):
    """An array among the arguments, as the function wants it; an object as it is."""
    if type(value) is Here:
        return value.value
    wants = options.get("wants")
    if wants == "cupy":
        import cupy
        return cupy.asarray(value)
    if wants == "jax":
        import jax.numpy
        return jax.numpy.asarray(value)
    if wants == "torch":
        import torch
        made = torch.from_numpy(value.copy())
        return made.cuda() if torch.cuda.is_available() else made
    return value.copy() if options.get("copy") else value


class Unpickler(pickle.Unpickler):
    """From Python 3.13 on, only one of a class in Python takes a persistent_load of its own."""


class Unpacker:
    """The options, positional and keyword arguments."""

    def __init__(self, data, arrays):
        self.data = data
        self.arrays = arrays

    def load(self):
        stream = io.BytesIO(self.data)
        options = pickle.load(stream)
        arrays = [converted(one, options) for one in self.arrays]
        unpickler = Unpickler(stream)
        unpickler.persistent_load = lambda place: arrays[place] if type(place) is int else number_or_array(arrays[place[0]])
        return (options, *unpickler.load())


def number_or_array(value):
    """Another job's result: without axes it is a number, as the job's caller would get it."""
    np = sys.modules.get("numpy")
    return value[()] if np is not None and type(value) is np.ndarray and not value.ndim else value


def as_array(value):
    """An array of NumPy's, also of one of another package's on whatever device; else None."""
    np = sys.modules.get("numpy")
    if np is None:
        return None
    if type(value) is np.ndarray:
        return value
    package = type(value).__module__.partition(".")[0]
    if package == "cupy" and hasattr(value, "get"):
        return value.get()
    if package == "torch" and hasattr(value, "detach"):
        return value.detach().cpu().numpy()
    if package in ("jax", "jaxlib") and hasattr(value, "__array__"):
        return np.asarray(value)
    return None


def one_array(value, name, always):
    """A result that other jobs take, as an array; None if it is none and need not be."""
    found = as_array(value)
    if found is not None:
        return found
    if type(value) not in (bool, int, float, complex) and not hasattr(value, "dtype"):
        if not always:
            return None
        raise Refused(f"{name} returned a {type_name(value).decode('utf-8', 'replace')}, and calls that take its result take one "
                      "array, or a number: return that")
    return numpy().asarray(value)


class Packer(pickle.Pickler):
    """Pickles a result, and takes the arrays out of it, and the objects that stay here."""

    def __init__(self, stream, name):
        super().__init__(stream, 5)
        self.name = name
        self.arrays = []
        self.objects = []
        self.places = {}
        self.seen = []  # so that no other object gets the id of one of them

    def persistent_id(self, one):
        kind = type(one)
        if kind in COMMON:
            return None
        found = as_array(one)
        if found is None:
            return None if comes_back(one) else self.stays(one)
        place, wrong = take_out(self, one, found)
        if wrong is not None:
            raise Refused(f"{self.name} returned {wrong}, which does not come back: returns=\"object\" takes anything, and "
                          "with returns=\"ref\" it stays in the worker")
        return place

    def stays(self, one):
        place = self.places.get(id(one))
        if place is None:
            if len(self.objects) == MOST_REFS:
                raise Refused(f"{self.name} returned more than {MOST_REFS} objects that stay in the worker: put them into one, "
                              "and say returns=\"ref\"")
            place = self.places[id(one)] = (len(self.objects), type_name(one).decode("utf-8", "replace"), os.getpid())
            self.objects.append(one)
        return place


def comes_back(one):
    """Whether a client rebuilds it, or it is part of what rebuilds it."""
    if type(one) in PLAIN or any(one is kind for kind in PLAIN):
        return True
    np = sys.modules.get("numpy")
    if np is None:
        return False
    if isinstance(one, (np.generic, np.dtype)):
        return getattr(one, "dtype", one).name in NUMBERS
    return one is np.dtype or one is np.float64(0).__reduce__()[0]


def take_out(packer, one, found):
    """Its number among the arrays of the result, or what is wrong with it."""
    place = packer.places.get(id(one))
    if place is not None:
        return place, None
    if found.dtype.name not in NUMBERS:
        return None, f"an array of {found.dtype}"
    if found.ndim > MOST_AXES:
        return None, f"an array of {found.ndim} axes"
    if len(packer.arrays) == MOST_ARRAYS:
        return None, f"more than {MOST_ARRAYS} arrays"
    packer.places[id(one)] = len(packer.arrays)
    packer.seen.append(one)
    found = found.astype(found.dtype.newbyteorder("="), order="C", copy=False)
    packer.arrays.append(numpy().ascontiguousarray(found).reshape(found.shape))
    return len(packer.arrays) - 1, None


def packer_of_anything(stream, plain):
    """By choice objects come back as they are: of what is inside them, arrays of NumPy's own alone are taken out."""
    try:
        import cloudpickle
        dispatch = cloudpickle.CloudPickler
    except ImportError:
        dispatch = pickle.Pickler
    if plain:  # the client's Python cannot read code of this one
        dispatch = pickle.Pickler
    np = sys.modules.get("numpy")

    class Anything(dispatch):
        def persistent_id(self, one):
            return take_out(self, one, one)[0] if np is not None and type(one) is np.ndarray else None

    packer = Anything(stream, 5)
    packer.arrays, packer.places, packer.seen = [], {}, []
    return packer


def pack(value, options, name):
    """A result: the arrays in it, all else pickled, and the objects that stay."""
    stream = io.BytesIO()
    if options.get("returns") == "object":
        packer = packer_of_anything(stream, options.get("plain"))
        packer.dump(value)
        return packer.arrays, stream.getvalue(), []
    if "array" in options:
        value = one_array(value, name, options["array"] == "always")
    packer = Packer(stream, name)
    if options.get("returns") == "ref":
        class Whole(pickle.Pickler):  # from Python 3.13 on, its own kind takes no persistent_id
            def persistent_id(self, one):
                return packer.stays(value) if one is value else None

        pickler = Whole(stream, 5)
        pickler.dump(value)
    else:
        packer.dump(value)
    return packer.arrays, stream.getvalue(), packer.objects


def error_text(error):
    """An exception as texts: type, message, traceback, pickle."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    if isinstance(error, Refused):
        error = TypeError(str(error))
    kind = type(error)
    try:
        message = str(error)
    except Exception:
        message = "its text cannot be had"
    try:
        shown = "".join(traceback.format_exception(kind, error, trace))
    except Exception:
        shown = ""
    try:
        packed = pickle.dumps(error)
    except Exception:
        packed = b""
    texts = [f"{kind.__module__}.{kind.__qualname__}".encode("utf-8", "replace")[:256].decode("utf-8", "ignore").encode(),
             message.encode("utf-8", "replace")[:8192].decode("utf-8", "ignore").encode(),
             shown.encode("utf-8", "replace")[-32768:].decode("utf-8", "ignore").encode(),
             packed if len(packed) <= 32768 else b""]
    return b"".join(struct.pack("=I", len(text)) + text for text in texts)


if __name__ == "__main__":
    if sys.version_info < (3, 9):
        sys.exit("Python 3.9 or later is needed")
    # A folder of Hotplate's is nothing that a function may import from.
    if not getattr(sys.flags, "safe_path", False):
        del sys.path[0]
    os.set_inheritable(int(sys.argv[1]), False)
    serve(int(sys.argv[1]))
