"""hotplate cache: files of compiled code are listed and cleared, and nothing else is."""

import os
import time

import harness


class Caches(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.cubins, cls.packages = cls.folder / "cache" / "cubins", cls.folder / "jit"
        cls.start_daemon("--cache", cls.folder / "cache", "--jit-cache", cls.packages)

    def fill(self):
        for file in (self.cubins / "ab.cubin", self.packages / "hotplate-cupy" / "deep" / "k.cubin", self.cubins / "mine"):
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file.write_bytes(b"x" * 1000)
            os.utime(file, (time.time() - 100,) * 2)  # what is new may be about to be used

    def sizes(self):
        return {one["name"]: (int(one.get("files", 0)), int(one.get("bytes", 0))) for one in self.answer("cache")["caches"]}

    def test_they_are_listed_and_cleared(self):
        self.fill()
        self.assertEqual(self.sizes(), {"expressions": (1, 1000), "packages": (1, 1000)})
        self.assertIn(str(self.cubins), self.hotplate("cache"))
        self.hotplate("cache", "clear", "expressions", says="1 file is gone, 1.0 kB")
        self.assertEqual(self.sizes(), {"expressions": (0, 0), "packages": (1, 1000)})
        self.hotplate("cache", "clear", says="1 file is gone")
        self.hotplate("cache", "clear", says="nothing was removed")
        self.assertTrue((self.cubins / "mine").exists(), "what is no compiled code stays")

    def test_what_is_just_written_stays(self):
        self.fill()
        os.utime(self.packages / "hotplate-cupy" / "deep" / "k.cubin")
        self.hotplate("cache", "clear", "packages", says="nothing was removed")
        self.assertEqual(self.sizes()["packages"], (1, 1000))

    def test_a_folder_that_others_write_to_is_left_alone(self):
        self.fill()
        self.cubins.chmod(0o770)
        try:
            self.hotplate("cache", "clear", "expressions", code=harness.NOT_ALLOWED, says="is not a folder of yours")
            self.assertEqual(self.sizes()["expressions"], (1, 1000))
        finally:
            self.cubins.chmod(0o700)

    def test_what_is_no_cache_is_named(self):
        self.fill()
        self.hotplate("cache", "clear", "all", code=harness.INVALID, says='there is no cache "all"; there are expressions and packages')
        self.hotplate("cache", "empty", code=harness.USAGE, says="cache empty: give clear")
        self.assertEqual(self.sizes()["packages"], (1, 1000))


if __name__ == "__main__":
    harness.main()
