"""Bad input is refused before anything runs, with a sentence that names the thing and its value."""

import os
import shutil
import struct

import numpy as np

import harness


def npy(header, data=b"", version=(1, 0), magic=b"\x93NUMPY", length=None):
    """An .npy file as a test wants it, right or wrong."""
    text = header.encode("latin1")
    size = struct.pack("<H" if version == (1, 0) else "<I", len(text) if length is None else length)
    return magic + bytes(version) + size + text + data


def header(descr="'<f4'", fortran="False", shape="(4,)"):
    return f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}\n"


class BadInput(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.daemon = cls.start_daemon()
        np.save(cls.folder / "x.npy", np.ones(4, dtype=np.float32))
        np.save(cls.folder / "m.npy", np.ones((3, 4), dtype=np.float32))

    def tearDown(self):
        self.assertIsNone(self.daemon.poll(), "the daemon did not survive\n" + self.log())

    def jobs(self):
        return len(self.answer("jobs").get("jobs", []))

    def refused(self, *words, says, code=harness.INVALID, **options):
        """Refused with that code, naming each of `says`; and no job was made of it."""
        before = self.jobs()
        self.hotplate(*words, code=code, says=says, **options)
        self.assertEqual(self.jobs(), before, f"{words} ran")

    # Kernels and parameters.

    def test_unknown_kernel_names_the_nearest(self):
        self.refused("run", "mandlebrot", says=["mandlebrot", "mandelbrot"])
        self.refused("submit", "mat_mul", "x.npy", "x.npy", says=["mat_mul", "matmul"])
        self.refused("describe", "sellu", says=["sellu", "selu"])

    def test_unknown_parameter_names_the_nearest(self):
        self.refused("run", "selu", "x.npy", "--aplha", "2", says='selu: no parameter or option "--aplha". Nearest: --alpha')

    def test_parameters_that_are_out_of_range_or_no_numbers(self):
        for name, value, why in (("--max-iterations", "0", "is out of range: "), ("--max-iterations", "-3", "is out of range: "),
                                 ("--resolution", "65537", "is out of range: "), ("--resolution", "1e99", "is not a whole number"),
                                 ("--resolution", "99999999999999999999", "is not a whole number"),
                                 ("--resolution", "2.5", "is not a whole number"), ("--resolution", "many", "is not a whole number"),
                                 ("--x-min", "nan", "is not finite"), ("--x-min", "inf", "is not finite"),
                                 ("--x-min", "1e300", "is out of range: "), ("--x-min", "left", "is no number")):
            self.refused("run", "mandelbrot", f"{name}={value}", "-o", "o.npy", says=f'{name}: "{value}" {why}')

    def test_a_parameter_without_its_value(self):
        self.refused("run", "mandelbrot", "--x-min=", "-o", "o.npy", code=harness.USAGE, says="--x-min: its value is missing")

    def test_a_choice_that_there_is_not(self):
        self.refused("run", "integrate2d", "--variant", "quick", says='--variant: "quick" is none of naive, shared, fast')

    def test_sizes_whose_product_is_too_large(self):
        for size in (2**32, 2**23):  # beyond 64 bits, and beyond the largest array
            self.refused("run", "random", "--n", str(size), "--rows", str(size), "-o", "o.npy",
                         says=f"the output out would be float64 [{size}, {size}], more than the 70368744177664 bytes")

    # Inputs.

    def test_a_missing_input(self):
        self.refused("run", "matmul", "m.npy", "-o", "o.npy", says="input b is missing: it takes 2 (a, b), 1 was given")

    def test_one_input_too_many(self):
        self.refused("run", "selu", "x.npy", "m.npy", "-o", "o.npy", says='"m.npy" is one input too many; it takes 1 (x)')

    def test_wrong_dtype_rank_and_shape(self):
        np.save(self.folder / "c.npy", np.ones(4, dtype=np.complex128))
        self.refused("run", "vector_add", "c.npy", "c.npy", "-o", "o.npy", says=["complex128", "float32"])
        self.refused("run", "matmul", "x.npy", "m.npy", "-o", "o.npy", says=["b (m.npy)", "[4]", "[3, 4]", "inner sizes differ", "expected a [..., m, k] and b [..., k, n]"])
        self.refused("run", "matmul", "m.npy", "m.npy", "-o", "o.npy", says=["a (m.npy)", "b (m.npy)", "[3, 4]", "inner sizes differ"])
        np.save(self.folder / "y.npy", np.ones(5, dtype=np.float32))
        self.refused("run", "vector_add", "x.npy", "y.npy", "-o", "o.npy", says=["[4]", "[5]"])
        np.save(self.folder / "d.npy", np.ones(4, dtype=np.float64))
        self.refused("run", "vector_add", "x.npy", "d.npy", "-o", "o.npy", says=["float32", "float64"])

    def test_files_that_are_not_there_or_cannot_be_read(self):
        self.refused("run", "selu", "missing.npy", "-o", "o.npy", says="missing.npy")
        self.refused("run", "selu", "", "-o", "o.npy", says='input x: "" names no file')
        self.refused("run", "selu", "x=x.npy", "x=m.npy", "-o", "o.npy", says=["x is given twice", "x.npy", "m.npy"])
        self.refused("run", "selu", str(self.folder), "-o", "o.npy", says=str(self.folder))
        self.refused("run", "selu", "/dev/null", "-o", "o.npy", says="/dev/null")

    def test_a_file_that_may_not_be_read(self):
        self.need_permissions()
        shutil.copy(self.folder / "x.npy", self.folder / "secret.npy")
        (self.folder / "secret.npy").chmod(0)
        self.refused("run", "selu", "secret.npy", "-o", "o.npy", code=harness.NOT_ALLOWED, preexec_fn=harness.heed_permissions,
                     says="selu: input x: secret.npy: cannot open it: Permission denied")
        self.refused("put", "secret.npy", code=harness.NOT_ALLOWED, preexec_fn=harness.heed_permissions,
                     says="secret.npy: cannot open it: Permission denied")
        # With one that is not there either, allowing it would not be enough.
        self.refused("run", "matmul", "secret.npy", "missing.npy", "-o", "o.npy", preexec_fn=harness.heed_permissions,
                     says=["secret.npy: cannot open it: Permission denied", "missing.npy: cannot open it: No such file"])

    def test_a_fifo_is_no_array(self):
        os.mkfifo(self.folder / "fifo")
        self.refused("run", "selu", "fifo", "-o", "o.npy", says="fifo")

    def test_npy_files_that_are_broken(self):
        four = np.arange(4, dtype=np.float32).tobytes()
        broken = {
            "truncated": (npy(header(), four[:-1]), None),
            "no-data": (npy(header()), None),
            "object": (npy(header(descr="'|O'"), four), "|O"),
            "structured": (npy(header(descr="[('a', '<f4'), ('b', '<i4')]"), four), None),
            "big-endian": (npy(header(descr="'>f4'"), four), ">f4"),
            "unicode": (npy(header(descr="'<U4'"), four), "U4"),
            "unknown-dtype": (npy(header(descr="'<f3'"), four), "f3"),
            "header-cut": (npy(header(), length=5_000), None),
            "header-absurd": (npy(header(), version=(2, 0), length=2**32 - 1), "4294967295"),
            "version-9": (npy(header(), four, version=(9, 0)), "9.0"),
            "not-npy": (b"hello, this is no array at all", None),
            "empty": (b"", None),
            "magic-only": (b"\x93NUMPY", None),
            "huge": (npy(header(shape="(1152921504606846976,)")), "1152921504606846976"),
            "overflow": (npy(header(shape="(4294967296, 4294967296, 4294967296)")), "4294967296"),
            "negative": (npy(header(shape="(-4,)"), four), "-4"),
            "deep": (npy(header(shape="(" + "1, " * 40 + ")"), four), None),
            "shape-no-tuple": (npy(header(shape="4"), four), None),
            "shape-no-numbers": (npy(header(shape="('a',)"), four), None),
            "header-no-dict": (npy("[1, 2, 3]\n"), None),
            "header-keys": (npy("{'descr': '<f4', 'shape': (4,)}\n", four), "fortran_order"),
            "header-code": (npy("__import__('os').system('touch /tmp/hotplate-was-here')\n"), None),
            "header-nul": (npy("\0" * 64), None),
            "fortran-maybe": (npy(header(fortran="Maybe"), four), None),
        }
        before = self.jobs()
        for name, (content, word) in broken.items():
            with self.subTest(name):
                file = self.folder / f"{name}.npy"
                file.write_bytes(content)
                for given in (str(file), f"path:{file}"):  # read by the command, and by the daemon
                    self.hotplate("run", "selu", given, "-o", "o.npy", code=harness.INVALID,
                                  says=[f"{name}.npy"] + ([word] if word else []))
                self.hotplate("put", str(file), "--name", "broken", code=harness.INVALID, says=f"{name}.npy")
        self.assertEqual(self.jobs(), before, "one of them ran")
        self.assertFalse(os.path.exists("/tmp/hotplate-was-here"))
        self.assertFalse((self.folder / "o.npy").exists())

    def test_npy_of_versions_2_and_3_are_fine(self):
        data = np.arange(4, dtype=np.float32).tobytes()
        for version in ((2, 0), (3, 0)):
            (self.folder / "v.npy").write_bytes(npy(header(), data, version=version))
            self.hotplate("run", "vector_add", "v.npy", "v.npy", "-o", "o.npy")
            np.testing.assert_array_equal(np.load(self.folder / "o.npy"), [0, 2, 4, 6])
            os.unlink(self.folder / "o.npy")

    # Outputs.

    def test_output_that_cannot_be_written(self):
        for path, why in (("no/such/folder/o.npy", "cannot write to its folder no/such/folder: No such file or directory"),
                          ("/proc/o.npy", "cannot write to its folder /proc: No such file or directory"),
                          ("x.npy/o.npy", "cannot write it: Not a directory"), ("/dev/full/o.npy", "cannot write it: Not a directory")):
            self.refused("run", "selu", "x.npy", "-o", path, says=[f"output y: {path}: {why}", "the job was not run"])
        self.refused("run", "selu", "x.npy", "--dry-run", "-o", "no/such/folder/o.npy", says="no/such/folder/o.npy")
        code, _, err = self.run_command("get", "BIG", "-o", "no/such/folder/o.npy")
        self.assertEqual(code, harness.INVALID, err)
        self.assertNotIn("job", err)
        self.refused("run", "selu", "x.npy", "-o", "folder", says='"folder" ends in neither .npy nor .png')
        (self.folder / "folder.npy").mkdir()
        self.refused("run", "selu", "x.npy", "-o", "folder.npy", says="folder.npy: cannot write it: Is a directory")

    def test_output_where_nobody_may_write(self):
        self.need_permissions()
        closed = self.folder / "closed"
        closed.mkdir(mode=0o500)
        np.save(self.folder / "read-only.npy", np.ones(4, dtype=np.float32))
        (self.folder / "read-only.npy").chmod(0o400)
        for path, why in (("closed/o.npy", "cannot write to its folder closed"), ("read-only.npy", "cannot replace it")):
            self.refused("run", "selu", "x.npy", "-o", path, code=harness.NOT_ALLOWED, preexec_fn=harness.heed_permissions,
                         says=[f"output y: {path}: {why}: Permission denied", "the job was not run"])
        self.assertEqual(list(closed.iterdir()), [])

    def test_two_outputs_into_one_file(self):
        for other in ("both.npy", "./both.npy", str(self.folder / "both.npy")):
            self.refused("run", "integrate2d", "--n", "10", "-o", "value=both.npy", "-o", f"error={other}",
                         says=["value", "error", other])
        self.assertFalse((self.folder / "both.npy").exists())
        self.refused("run", "integrate2d", "-o", "value=array:S", "-o", "error=array:S", says="array:S")

    def test_an_output_that_the_kernel_does_not_have(self):
        self.refused("run", "integrate2d", "-o", "value=v.npy", "-o", "height=o.npy",
                     says='-o height=o.npy: no output "height"; its outputs: value, error')
        self.assertEqual(list(self.folder.glob("*=*")) + list(self.folder.glob("path:*")), [])

    def test_outputs_without_a_name(self):
        np.save(self.folder / "square.npy", np.diag([3.0, 2.0]))
        self.refused("run", "svd", "square.npy", "-o", "o.npy", says=["-o o.npy: which output?", "u, s, vt"])
        self.refused("run", "svd", "square.npy", "-o", "o.npy", "-o", "p.npy", "-o", "q.npy", "--compute", "values",
                     says=["which output?", "This call gives s"])
        self.refused("submit", "svd", "square.npy", "-o", "array:O", says="which output?")
        self.hotplate("run", "svd", "square.npy", "--compute", "values", "-o", "values.npy")
        np.testing.assert_allclose(np.load(self.folder / "values.npy"), [3, 2])
        job_id = self.answer("submit", "svd", "square.npy")["jobId"]
        self.hotplate("wait", job_id)
        self.hotplate("result", job_id, "-o", "o.npy", code=harness.INVALID, says=["which output?", "u, s, vt"])
        self.hotplate("result", job_id, "-o", "s=t.npy")
        job_id = self.answer("submit", "svd", "square.npy", "--compute", "values")["jobId"]
        self.hotplate("result", job_id, "--wait", "-o", "of_result.npy")
        np.testing.assert_allclose(np.load(self.folder / "of_result.npy"), [3, 2])
        self.hotplate("result", job_id, "-o", "o.npy", "-o", "p.npy", code=harness.INVALID, says="This call gives s. ")
        self.hotplate("run", "svd", "square.npy", "--compute", "values", "-o", "array:S")
        self.hotplate("get", "S", "-o", "t.npy")
        np.testing.assert_allclose(np.load(self.folder / "t.npy"), [3, 2])

    def test_a_picture_of_what_is_none(self):
        self.refused("run", "selu", "x.npy", "-o", "o.png", says=["output y: o.png: ", "float32 [4]", "the job was not run"])

    def test_an_existing_file_is_replaced_whole_or_not_at_all(self):
        target = self.folder / "target.npy"
        target.write_bytes(b"as it was")
        inode = os.stat(target).st_ino
        self.run_command("run", "selu", "x.npy", "--time-limit", "1h", "--alpha", "nan", "-o", "target.npy")
        self.assertEqual(target.read_bytes(), b"as it was")
        self.hotplate("run", "selu", "x.npy", "-o", "target.npy")
        self.assertEqual(np.load(target).shape, (4,))
        self.assertNotEqual(os.stat(target).st_ino, inode, "a new file took its place")
        leftovers = [path.name for path in self.folder.iterdir() if "target" in path.name and path != target]
        self.assertEqual(leftovers, [])

    def test_output_into_its_own_input(self):
        np.save(self.folder / "inplace.npy", np.full(4, 2, dtype=np.float32))
        self.hotplate("run", "vector_add", "inplace.npy", "inplace.npy", "-o", "inplace.npy")
        np.testing.assert_array_equal(np.load(self.folder / "inplace.npy"), [4, 4, 4, 4])

    # The command line itself.

    def test_usage(self):
        for words in (("no-such-command",), ("run",), ("run", "selu", "x.npy", "--time-limit", "soon"), ("jobs", "--bogus"),
                      ("put",), ("watch",), ("free",), ("completion", "csh"), ("submit",)):
            code, out, err = self.run_command(*words)
            self.assertEqual(code, harness.USAGE, f"{words}: {out}{err}")
            self.assertIn("help", err)

    def test_a_device_that_is_not_there(self):
        self.refused("run", "selu", "x.npy", "--device", "gpu7", "-o", "o.npy", says=["gpu7", "cpu0"])

    def test_a_precision_that_the_device_does_not_have(self):
        # For this daemon's devices, not for the kernel: another daemon may take it.
        self.refused("run", "matmul", "m.npy", "m.npy", "--transpose-b", "--precision", "tf32", "-o", "o.npy", says="tf32",
                     code=harness.TRY_LATER)

    def test_the_same_bits_of_a_measurement(self):
        self.refused("run", "transfer_probe", "--deterministic", "-o", "o.npy", says=["transfer_probe", "--deterministic"])

    def test_words_from_outside_do_not_reach_the_terminal_raw(self):
        code, out, err = self.run_command("run", "evil\x1b[2Jkernel")
        self.assertEqual(code, harness.INVALID)
        self.assertNotIn("\x1b", out + err)


if __name__ == "__main__":
    harness.main()
