"""Named Python environments, the daemon's own, and the rules by which an interpreter is chosen."""

import json
import shutil
import stat
import subprocess
import textwrap

import harness

PYTHON = "/usr/bin/python3"
WHERE = "import os, sys; print(sys.executable, os.environ.get('VIRTUAL_ENV'), os.environ.get('FROM_MODULE'))"

# As sites define `module` for login shells. The fake ones set what modules set.
PROFILE = """
echo "welcome to this node"
export LOGIN=1
module() {
  [ "$1" = load ] || return 3
  shift
  for name in "$@"; do
    case "$name" in
      tools/1) export PATH="$TOOLS:$PATH" FROM_MODULE=tools LD_LIBRARY_PATH=/opt/tools/lib; unset LOGIN ;;
      broken/1) echo "Lmod has detected the following error: broken/1 wants GCC" >&2; return 1 ;;
      old/1) echo "ModuleCmd_Load.c(213):ERROR:105: Unable to locate a modulefile for 'old/1'" >&2 ;;
      loud/1) echo "loud/1 is deprecated" >&2; echo "and says so"; export FROM_MODULE=loud ;;
    esac
  done
}
"""


class Environments(harness.Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name in ("HOTPLATE_PYTHON", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "SCRATCH", "CUDA_CACHE_PATH"):
            cls.environment.pop(name, None)
        cls.environment["PYTHONDONTWRITEBYTECODE"] = "1"
        tools = cls.folder / "tools"
        tools.mkdir()
        (cls.folder / ".bash_profile").write_text(f"TOOLS={tools}\n" + PROFILE)
        cls.venv = cls.make_venv("venv")
        cls.other = cls.make_venv("other")
        (tools / "python3").symlink_to(cls.other)
        (tools / "mine").write_text("#!/bin/sh\necho $FROM_MODULE\n")
        (tools / "mine").chmod(0o755)
        cls.daemon = cls.start_daemon("--jit-cache", cls.folder / "jit")

    @classmethod
    def make_venv(cls, name):
        folder = cls.folder / name
        subprocess.run([PYTHON, "-m", "venv", "--system-site-packages", "--without-pip", folder], check=True)
        return folder / "bin/python"

    def tearDown(self):
        for one in self.answer("env")["environments"]:
            if one["name"] != "default":
                self.hotplate("env", "remove", one["name"])

    def where(self, *words, env=None, **options):
        return self.hotplate("python", *words, "-c", WHERE, env=env or {}, **options).split()

    def process(self):
        return self.answer("jobs")["jobs"][0]["receipt"]["process"]

    # Names.

    def test_a_name_is_added_listed_shown_and_removed(self):
        self.assertIn("no environment has a name", self.hotplate("env"))
        out = self.hotplate("env", "add", "torch", "--python", self.venv)
        version = subprocess.run([PYTHON, "-c", "import sys, numpy; print('%d.%d.%d' % sys.version_info[:3], numpy.__version__)"],
                                 capture_output=True, text=True, check=True).stdout.split()
        self.assertIn(f"environment torch: Python {version[0]}, NumPy {version[1]}, cloudpickle ", out)
        self.assertIn(str(self.venv), out)
        one, = self.answer("env", "list")["environments"]
        self.assertEqual((one["name"], one["python"], one["pythonVersion"], one["numpy"]), ("torch", str(self.venv), *version))
        self.assertIn(str(self.venv), self.hotplate("env", "show", "torch"))
        self.assertEqual(self.hotplate("env", "list", "--quiet"), "torch\n")
        self.assertEqual(self.answer("env", "remove", "torch"), {"removed": "torch"})
        self.assertEqual(self.answer("env", "list")["environments"], [])
        self.hotplate("env", "remove", "torch", code=harness.INVALID, says='there is no environment "torch", nor any other')

    def test_a_relative_path_is_from_this_folder(self):
        self.hotplate("env", "add", "here", "--python", "venv/bin/python")
        self.assertEqual(self.answer("env", "show", "here")["python"], str(self.venv))

    def test_a_name_that_exists_is_replaced_by_force_alone(self):
        self.hotplate("env", "add", "a", "--python", self.venv)
        self.hotplate("env", "add", "a", "--python", self.other, code=harness.INVALID,
                      says='there is an environment "a" already')
        self.assertEqual(self.answer("env", "show", "a")["python"], str(self.venv))
        self.assertTrue(self.answer("env", "add", "a", "--python", self.other, "--force")["replaced"])
        self.assertEqual(self.answer("env", "show", "a")["python"], str(self.other))

    def test_what_is_no_python_is_refused_and_not_kept(self):
        script = self.folder / "no-python"
        script.write_text("#!/bin/sh\necho I am none >&2\nexit 7\n")
        script.chmod(0o755)
        plain = self.folder / "plain"
        plain.write_text("x")
        broken = self.folder / "broken"
        broken.write_text("#!/no/such/interpreter\n")
        broken.chmod(0o755)
        old = self.folder / "old"
        old.write_text("#!/bin/sh\nprintf '\\0hotplate: python\\0002.7.18\\0'\n")
        old.chmod(0o755)
        for path, says in ((script, "is no Python that runs: it ended with exit code 7 and said: I am none"),
                           ("/bin/true", "is no Python that runs: it gave no answer"),
                           ("/no/python", "has no interpreter \"/no/python\""),
                           (plain, "that can be executed"), (self.folder, "that can be executed"),
                           ("no-such-program", "has no program \"no-such-program\" in PATH"),
                           (broken, "cannot be executed"), (old, "Python 2.7.18; Python 3.9 or later is needed")):
            self.hotplate("env", "add", "a", "--python", path, code=harness.INVALID, says=says)
        self.assertEqual(self.answer("env")["environments"], [])

    def test_packages_that_are_missing_are_told(self):
        subprocess.run([PYTHON, "-m", "venv", "--without-pip", self.folder / "bare"], check=True)
        bare = self.folder / "bare/bin/python"
        out = self.hotplate("env", "add", "bare", "--python", bare)
        self.assertIn("no NumPy, no cloudpickle (functions bring their own)", out)
        package = next((self.folder / "bare").glob("lib/python*/site-packages")) / "numpy"
        package.mkdir()
        (package / "__init__.py").write_text("import nothing_of_that_name\n")
        _, _, err = self.run_command("env", "add", "bare", "--python", bare, "--force")
        self.assertIn("numpy cannot be imported: No module named 'nothing_of_that_name'", err)

    def test_bad_words_are_refused(self):
        for words, says in ((("add",), "NAME is missing"), (("add", "a"), "--python PATH is missing"),
                            (("frobnicate",), "give list, add NAME"), (("list", "a"), "one word too many"),
                            (("list", "--force"), "--force is for env add"), (("show", "a", "--python", "x"), "--python is for env add")):
            self.hotplate("env", *words, code=harness.USAGE, says=says)
        self.hotplate("env", "add", "../a", "--python", PYTHON, code=harness.INVALID, says='name is "../a"')
        self.hotplate("env", "add", "default", "--python", PYTHON, code=harness.INVALID, says="the daemon's own environment")
        self.hotplate("env", "add", "a", "--python", PYTHON, "--module", "x; rm", code=harness.INVALID, says='modules has "x; rm"')
        self.hotplate("env", "show", "nosuch", code=harness.INVALID, says='there is no environment "nosuch"')

    def test_names_outlive_the_daemon_and_are_closed_to_others(self):
        self.hotplate("env", "add", "kept", "--python", self.venv, "--module", "tools/1")
        self.start_daemon(name="second")
        self.assertEqual(self.where("--server", "second", "--env", "kept"), [str(self.venv), str(self.venv.parents[1]), "tools"])
        file = self.directory / "environments/kept.json"
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o600)
        self.hotplate("down", "second")

    # Modules.

    def test_modules_are_loaded_once_and_their_changes_kept(self):
        out = self.hotplate("env", "add", "m", "--module", "tools/1")
        self.assertIn(str(self.folder / "tools/python3"), out)  # the first python3 in PATH, with the modules loaded
        one = self.answer("env", "show", "m")
        self.assertEqual(one["modules"], ["tools/1"])
        self.assertEqual(one["variables"], ["FROM_MODULE", "LD_LIBRARY_PATH", "LOGIN", "PATH"])
        self.assertNotIn("/opt/tools", json.dumps(one))  # values are shown nowhere
        shutil.move(self.folder / ".bash_profile", self.folder / "gone")  # nobody loads them a second time
        try:
            out = self.hotplate("python", "--env", "m", "-c",
                                "import os; print(*(os.environ.get(name) for name in "
                                "('FROM_MODULE', 'LD_LIBRARY_PATH', 'LOGIN', 'PATH')), sep='\\n')",
                                env={"LD_LIBRARY_PATH": "/my/lib", "LOGIN": "mine", "FROM_MODULE": "mine"})
        finally:
            shutil.move(self.folder / "gone", self.folder / ".bash_profile")
        module, libraries, login, path = out.splitlines()
        self.assertEqual((module, libraries, login), ("tools", "/opt/tools/lib:/my/lib", "None"))
        self.assertTrue(path.startswith(f"{self.folder}/tools:"), path)
        self.assertTrue(path.endswith(self.environment["PATH"]), path)

    def test_programs_have_the_variables_of_an_environment(self):
        self.hotplate("env", "add", "m", "--module", "tools/1")
        self.assertEqual(self.hotplate("exec", "--env", "m", "mine"), "tools\n")
        self.assertEqual(self.process()["pythonEnvironment"], "m")
        self.hotplate("exec", "mine", code=harness.INVALID, says='no program "mine" in PATH')

    def test_modules_that_do_not_load_are_refused_in_their_words(self):
        for module, says in (("broken/1", "module load broken/1 failed on the node: Lmod has detected the following error: "
                                          "broken/1 wants GCC"),
                             ("old/1", "Unable to locate a modulefile for 'old/1'")):
            self.hotplate("env", "add", "a", "--python", PYTHON, "--module", module, code=harness.INVALID, says=says)
        self.assertEqual(self.answer("env")["environments"], [])
        # What a module only prints is no failure.
        self.hotplate("env", "add", "loud", "--python", PYTHON, "--module", "loud/1")
        self.assertEqual(self.where("--env", "loud")[2], "loud")

    def test_a_node_without_modules_says_so(self):
        home = self.folder / "home"
        home.mkdir()
        self.start_daemon(name="bare", env={"HOME": str(home)})
        self.hotplate("env", "add", "a", "--python", PYTHON, "--module", "x/1", "--server", "bare", code=harness.INVALID,
                      says="module load x/1: the node has no command `module` in a login shell")
        self.hotplate("down", "bare")

    # Which interpreter.

    def test_the_order_of_choice(self):
        self.hotplate("env", "add", "named", "--python", self.other)
        virtual = {"VIRTUAL_ENV": str(self.venv.parents[1])}
        conda = {"CONDA_PREFIX": str(self.venv.parents[1])}
        variable = {"HOTPLATE_PYTHON": PYTHON}
        first = lambda *words, env=None: self.where(*words, env=env)[0]
        self.assertEqual(first("--env", "named", env=virtual | variable), str(self.other))
        self.assertEqual(first(env=virtual | variable), PYTHON)
        self.assertEqual(first(env=virtual), str(self.venv))
        self.assertEqual(first(env=conda), str(self.venv))
        self.assertEqual(first(env=virtual | {"CONDA_PREFIX": "/nowhere"}), str(self.venv))
        self.assertEqual(first(env={"PATH": f"{self.folder}/tools:" + self.environment["PATH"]}), str(self.folder / "tools/python3"))
        self.assertEqual(self.process()["pythonEnvironment"], str(self.folder / "tools/python3"))
        self.hotplate("python", "--env", "nosuch", "-c", "1", code=harness.INVALID,
                      says='there is no environment "nosuch"; there are: named')
        self.hotplate("python", "--env", "default", "-c", "1", code=harness.INVALID, says="was started without --python")

    def test_a_named_environment_is_as_activated(self):
        self.hotplate("env", "add", "named", "--python", self.other)
        self.assertEqual(self.where("--env", "named", env={"VIRTUAL_ENV": "/mine", "PYTHONHOME": "/mine"})[:2],
                         [str(self.other), str(self.other.parents[1])])
        self.assertEqual(self.process()["pythonEnvironment"], "named")
        out = self.hotplate("python", "--env", "named", "-c", "import shutil; print(shutil.which('python'))")
        self.assertEqual(out, f"{self.other}\n")

    def test_scripts_of_an_environment_are_warm_too(self):
        self.hotplate("env", "add", "named", "--python", self.other, "--module", "tools/1")
        harness.wait_until(lambda: self.where("--env", "named") and self.process()["warm"], "a script is warm")
        self.assertEqual(self.where("--env", "named"), [str(self.other), str(self.other.parents[1]), "tools"])

    def test_submitted_scripts_take_it_as_well(self):
        self.hotplate("env", "add", "named", "--python", self.other)
        job = self.hotplate("submit", "--quiet", "python", "--env", "named", "-c", WHERE).strip()
        self.hotplate("wait", job)
        self.assertIn(str(self.other), self.hotplate("logs", job))

    def test_the_daemons_own_environment(self):
        self.hotplate("up", "--local", "--name", "own", "--python", "venv/bin/python", "--module", "tools/1", "--", "--device", "cpu")
        self.hotplate("use", "local")
        on = ("--server", "own")
        own, *_ = self.answer("env", *on)["environments"]
        self.assertEqual((own["name"], own["python"], own["modules"]), ("default", str(self.venv), ["tools/1"]))
        expected = [str(self.venv), str(self.venv.parents[1]), "tools"]
        self.assertEqual(self.where(*on), expected)
        self.assertEqual(self.where(*on, env={"VIRTUAL_ENV": str(self.other.parents[1])}), expected)
        self.assertEqual(self.where(*on, "--env", "default", env={"HOTPLATE_PYTHON": PYTHON}), expected)
        self.assertEqual(self.where(*on, env={"HOTPLATE_PYTHON": PYTHON})[0], PYTHON)
        _, _, err = self.run_command("up", "--local", "--name", "own", "--python", PYTHON)
        self.assertIn(f"--python={PYTHON} was not applied", err)
        self.hotplate("use", "local")
        self.hotplate("down", "own")

    def test_a_daemon_whose_environment_is_wrong_does_not_start(self):
        up = ("up", "--local", "--name", "wrong")
        for words, says in ((("--python", "/no/python"), "has no interpreter \"/no/python\""),
                            (("--python", "/bin/true"), "/bin/true is no Python that runs"),
                            (("--python", PYTHON, "--module", "broken/1"), "broken/1 wants GCC")):
            code, _, err = self.run_command(*up, *words, "--", "--device", "cpu")
            self.assertNotEqual(code, 0)
            self.assertIn(says, err)
        self.hotplate(*up, "--module", "a b", code=harness.USAGE, says="--module is 'a b'")
        self.hotplate(*up, "--python", PYTHON, "--", "--user-code", "none", code=harness.USAGE, says="contradict each other")
        self.assertFalse(self.record_path("wrong").exists())

    # What packages compile.

    def test_packages_keep_what_they_compile_where_the_node_can_write(self):
        names = ("CUPY_CACHE_DIR", "NUMBA_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR", "CUDA_CACHE_PATH")
        show = textwrap.dedent(f"import os\nfor name in {names}: print(os.environ.get(name))")
        out = self.hotplate("python", "-c", show, env={"HOTPLATE_PYTHON": PYTHON, "NUMBA_CACHE_DIR": "/mine"}).split()
        jit = self.folder / "jit"
        self.assertEqual(out, [f"{jit}/hotplate-cupy", "/mine", f"{jit}/hotplate-jax", f"{jit}/hotplate-cuda"])
        self.assertEqual(stat.S_IMODE(jit.stat().st_mode), 0o700)

    def test_a_folder_that_others_could_read_is_not_used(self):
        open_one = self.folder / "open"
        open_one.mkdir()
        open_one.chmod(0o755)
        self.start_daemon("--jit-cache", open_one, name="open")
        self.assertIn("is not a folder of yours that is closed to others", self.log("open"))
        out = self.hotplate("python", "--server", "open", "-c", "import os; print(os.environ.get('CUPY_CACHE_DIR'))",
                            env={"HOTPLATE_PYTHON": PYTHON})
        self.assertEqual(out, "None\n")
        self.hotplate("down", "open")


if __name__ == "__main__":
    harness.main()
