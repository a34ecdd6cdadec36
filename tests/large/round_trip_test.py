"""Arrays of more than 2^31 bytes: up to the daemon and back, and by path."""

import pathlib
import shutil
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "e2e"))
import harness  # noqa: E402

GIB = 1 << 30


def available_memory():
    with open("/proc/meminfo", encoding="ascii") as meminfo:
        return next(int(line.split()[1]) * 1024 for line in meminfo if line.startswith("MemAvailable:"))


class LargeArrays(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.start_daemon()

    def need(self, memory, disk):
        for what, needed, there in (("memory", memory, available_memory()), ("disk", disk, shutil.disk_usage(self.folder).free)):
            if there < needed:
                self.skipTest(f"{needed} bytes of {what} are needed, and {there} are available")

    def sparse(self, name, dtype, count, marks):
        """A file of zeros but for some elements, that takes little room."""
        array = np.lib.format.open_memmap(self.folder / name, mode="w+", dtype=dtype, shape=(count,))
        for index, value in marks.items():
            array[index] = value
        array.flush()

    def test_there_and_back(self):
        self.need(6 * GIB, 4 * GIB)
        count = 2**31 + 4099
        marks = {0: 1, 2**31 - 1: 2, 2**31: 3, count - 1: 4}
        self.sparse("bytes.npy", np.uint8, count, marks)
        self.hotplate("put", "bytes.npy", "--name", "bytes")
        array, = self.answer("arrays")["arrays"]
        self.assertEqual(int(array["bytes"]), count)
        self.hotplate("get", "bytes", "-o", "back.npy")
        back = np.load(self.folder / "back.npy", mmap_mode="r", allow_pickle=False)
        self.assertEqual((back.dtype, back.shape), (np.uint8, (count,)))
        places = {}
        for begin in range(0, count, 1 << 26):
            block = np.asarray(back[begin:begin + (1 << 26)])
            places |= {begin + int(at): int(block[at]) for at in np.flatnonzero(block)}
        self.assertEqual(places, marks)
        self.hotplate("free", "bytes")

    def test_by_path(self):
        self.need(4 * GIB, GIB)
        count = 2**29 + 1025
        self.sparse("numbers.npy", np.int32, count, {count - 2: 5, 3: 4})
        told = self.hotplate("run", "reduce", "path:numbers.npy", "--operation", "argmax")
        self.assertEqual(told.split()[0], str(count - 2))


if __name__ == "__main__":
    harness.main()
