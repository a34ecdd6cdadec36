"""Arrays that stay on the device between jobs: that they do, that results are right, and that they make room."""

import array
import concurrent.futures
import pathlib

from . import npy
from .daemon import Daemon, wait_until
from .device_memory import hold, let_go
from .results import Failed, NotRun

# Small integers, so that float32 sums are exact; of prime length, so that a piece in the wrong place shows.
PERIOD = 1021
NUMBERS = 4 << 20            # 16 MiB: several pieces of an upload
HELD_BACK = 700 << 20        # what another program leaves of the device
LARGE_NUMBERS = 40 << 20     # 160 MiB: five of them are more than that, the three of a job are not


def resident_checks(_kit):
    return ["put, and run twice", "a chain of kept outputs", "two lanes on one array", "an upload that is used at once",
            "freed arrays leave the device", "more than the device holds"]


def pattern(count, factor=1):
    """`count` float32 numbers as bytes: factor * (0, 1, 2 … 1020, 0, 1 …)."""
    one = array.array("f", (factor * float(i) for i in range(PERIOD))).tobytes()
    return (one * (count // PERIOD + 1))[:count * 4]


def write(kit, name, count, factor=1):
    path = pathlib.Path(kit.folder) / f"{name}.npy"
    npy.write(path, (count,), pattern(count, factor))
    return path


class Arrays:
    def __init__(self, kit, daemon):
        self.kit, self.daemon, self.names = kit, daemon, []

    def put(self, path, name):
        self.daemon.hotplate("put", path, "--name", name, timeout=120)
        self.names.append(name)

    def add(self, a, b, to):
        """The receipt of `to` = a + b, which stays on the daemon."""
        receipt = self.daemon.answer("run", "vector_add", f"array:{a}", f"array:{b}", "-o", f"array:{to}")["receipt"]
        self.names.append(to)
        return receipt

    def is_there(self, name, count, factor):
        """Reads it: what stayed on the device is copied to the host for this."""
        path = pathlib.Path(self.kit.folder) / f"{name}-there.npy"
        self.daemon.hotplate("get", name, "-o", path, timeout=120)
        there = path.read_bytes()[-4 * count:]
        path.unlink()
        if there != pattern(count, factor):
            raise Failed(f"{name} is not {factor} times the pattern in its {count} numbers")

    def free(self, *names):
        self.daemon.hotplate("free", *names)
        self.names = [name for name in self.names if name not in names]

    def bytes(self):
        """Of the device's memory, what copies of arrays have; None where the device does not tell."""
        return self.daemon.metrics().get("hotplate_device_resident_bytes")


def no_copy(receipt, what):
    if "hostToDeviceNs" in receipt:
        raise Failed(f"{what}: copied to the device again, {receipt['hostToDeviceNs']} ns")


def resident(kit):
    with Daemon(kit, "--lanes", "2", "--array-bytes", "100TiB") as daemon:
        arrays = Arrays(kit, daemon)
        path = write(kit, "a", NUMBERS)
        with kit.check("put, and run twice") as facts:
            arrays.put(path, "A")
            wait_until(lambda: (arrays.bytes() or 0) >= NUMBERS * 4, "the array was on the device before any job", patience=20)
            first = arrays.add("A", "A", "first")
            second = arrays.add("A", "A", "second")
            facts["receipts"] = [first, second]
            no_copy(second, "the second run")
            for name in ("first", "second"):
                arrays.is_there(name, NUMBERS, 2)
        with kit.check("a chain of kept outputs") as facts:
            factor, last = 1, "A"
            for name in ("B", "C", "D"):
                receipt = arrays.add(last, "A", name)
                no_copy(receipt, name)
                if "deviceToHostNs" in receipt:
                    raise Failed(f"{name}: copied to the host before anybody asked for it, {receipt['deviceToHostNs']} ns")
                factor, last = factor + 1, name
            arrays.is_there("D", NUMBERS, factor)
            facts["resident_bytes"] = arrays.bytes()
            arrays.free("first", "second", "B", "C", "D")
        with kit.check("two lanes on one array") as facts:
            names = [f"both-{number}" for number in range(8 if kit.quick else 24)]
            with concurrent.futures.ThreadPoolExecutor(6) as pool:
                receipts = list(pool.map(lambda name: arrays.add("A", "A", name), names))
            for name, receipt in zip(names, receipts):
                no_copy(receipt, name)
                arrays.is_there(name, NUMBERS, 2)
            facts["shared_the_device"] = sum(bool(receipt.get("deviceShared")) for receipt in receipts)
            arrays.free(*names)
        with kit.check("an upload that is used at once"):
            for number in range(2 if kit.quick else 6):
                arrays.put(path, "at-once")
                arrays.add("at-once", "A", "sum")
                arrays.is_there("sum", NUMBERS, 2)
                arrays.free("at-once", "sum")
        with kit.check("freed arrays leave the device"):
            arrays.free(*arrays.names)
            wait_until(lambda: arrays.bytes() == 0, "no array was on the device any more", patience=20)
    # A daemon of its own, whose pool keeps nothing of what was before.
    with kit.check("more than the device holds") as facts:
        if not kit.place.program("bench_bare_cuda"):
            raise NotRun("bench_bare_cuda was not built")
        if why := kit.one_at_a_time():
            raise NotRun(why)
        with Daemon(kit, "--lanes", "1", "--array-bytes", "100TiB", name="crowded") as daemon:
            more_than_it_holds(kit, Arrays(kit, daemon), write(kit, "small", PERIOD), facts)


def more_than_it_holds(kit, arrays, small, facts):
    """Another program leaves less of the device than five arrays take: the oldest make room, and come again when asked for."""
    paths = [write(kit, f"large-{number}", LARGE_NUMBERS, number + 1) for number in range(2)]
    arrays.daemon.hotplate("run", "vector_add", small, small, "-o", "array:loaded")  # its code is on the device
    arrays.free("loaded")
    holder, facts["holder"] = hold(kit, HELD_BACK)
    try:
        for number in range(5):
            arrays.put(paths[number % 2], f"large-{number}")
        wait_until(lambda: (arrays.bytes() or 0) > LARGE_NUMBERS * 4, "arrays were on the device", patience=20)
        facts["put_bytes"], facts["resident_bytes"] = 5 * LARGE_NUMBERS * 4, arrays.bytes()
        if facts["resident_bytes"] > HELD_BACK:
            raise Failed(f"{facts['resident_bytes']} bytes of arrays in {HELD_BACK} bytes of memory")
        receipt = arrays.add("large-0", "large-1", "sum")  # the oldest: they made room
        facts["receipt"] = receipt
        if "hostToDeviceNs" not in receipt:
            raise Failed("what was put first was still on the device, though there is no room for all")
        arrays.is_there("sum", LARGE_NUMBERS, 3)
        arrays.free("sum", *(f"large-{number}" for number in range(5)))
        wait_until(lambda: arrays.bytes() == 0, "no array was on the device any more", patience=20)
    finally:
        let_go(holder)
        for path in paths:
            path.unlink()
