"""A warm Python: it has imported what scripts ask for, and each script is forked from it.

hotplated starts it as `PYTHON hotplate_worker.py SOCKET KEEPER PYTHON MODULE...`. It needs Python 3.9 and the standard library.

    supervisor ── keeper ── this process ── keeper ── a script ── ...

For each script, the process forks a child, which makes itself a child subreaper, forks the script, and becomes the
program KEEPER, which sees to the script's end as for any program of a user's. So a script has no state of another one,
and all that it leaves behind is found and ended.

A fork whose program comes with another descriptor becomes a worker for functions instead (hotplate_calls.py).

Over SOCKET, which keeps the boundaries of messages:
    to the daemon     for each module "trying\\0NAME" and then "import\\0NAME\\0VERSION" or "left_out\\0NAME\\0REASON";
                      "ready\\0VERSION"; "wants\\0NAME..." when scripts have imported other ones
    from the daemon   one byte, with the descriptors of a program (server/workers/program.h), its keeper's socket and its
                      three standard streams
Its end is the end of this process, as soon as no script runs.
"""

import sys

STARTED_WITH = set(sys.modules)  # before those of this program

import array
import atexit
import errno
import gc
import importlib.machinery
import io
import os
import select
import signal
import socket
import struct
import sysconfig
import time

# A folder of Hotplate's is nothing that a script may import from.
if not getattr(sys.flags, "safe_path", False):
    del sys.path[0]

THREAD_COUNTS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
# Variables that may differ although a module has read them: those that are set in each script, and the shell's own.
NEVER_MIND = {*THREAD_COUNTS, "CUDA_VISIBLE_DEVICES", "PWD", "OLDPWD", "SHLVL", "_"}
SITE_FOLDERS = ("site-packages", "dist-packages")
MOST_WANTED = 64  # names in one message, which must be short

PR_SET_PDEATHSIG, PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 1, 15, 36


def prctl(option, value):
    LIBC.prctl(option, value, 0, 0, 0)


# --- what is imported before there is a script -------------------------------------------------------------------------

def thread_count():
    return len(os.listdir("/proc/self/task"))


def holds_gpu():
    for number in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{number}").startswith("/dev/nvidia"):
                return True
        except OSError:  # the one that lists them
            pass
    return False


class Watch:
    """What is imported meanwhile: the variables that it reads and sets, and whether it prints."""

    def __init__(self):
        self.read = set()
        self.before = dict(os.environb)
        self.printed = False

    def __enter__(self):
        read, self.getitem = self.read, os._Environ.__getitem__

        def getitem(environ, name):
            if isinstance(name, str):
                read.add(name)
            return self.getitem(environ, name)

        os._Environ.__getitem__ = getitem
        self.stdout = os.dup(1)
        self.output = os.memfd_create("hotplate-output")
        os.dup2(self.output, 1)

    def __exit__(self, *_):
        sys.stdout.flush()
        LIBC.fflush(None)
        self.printed = os.fstat(self.output).st_size > 0
        os.dup2(self.stdout, 1)
        os.close(self.stdout)
        os.close(self.output)
        os._Environ.__getitem__ = self.getitem

    def has_set(self):
        return {name: value for name, value in os.environb.items() if self.before.get(name) != value}


def import_for_all(name, watch):
    """Why the module cannot be kept imported, and whether this process can still be forked."""
    try:
        with watch:
            __import__(name)
    except BaseException as error:  # SystemExit too: it is only left out
        why = f"{type(error).__name__}: {error}".split("\n")[0][:200]
        return why, not watch.printed and thread_count() == 1 and not holds_gpu()
    if thread_count() > 1:
        return "it starts a thread", False
    if holds_gpu():
        return "it opens a GPU", False
    if watch.printed:
        return "it prints", False
    other = not_installed()
    if other is not None:
        return f"it imports {other}, which is not an installed package", False
    return None, True


def not_installed():
    """The name of a module that is imported and may change while it is used, or None."""
    folders = tuple({path + "/" for path in (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))})
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or not os.path.isabs(file) or name in STARTED_WITH or name == "__main__":
            continue
        if not file.startswith(folders) and not any(f"/{folder}/" in file for folder in SITE_FOLDERS):
            return name
    return None


def hides(folder):
    """A module that is imported here and would come from the folder in a Python that starts anew there, or None."""
    try:
        names = {entry.partition(".")[0] for entry in os.listdir(folder)} if os.path.isdir(folder) else None
    except OSError:
        return None
    loaded = {name for name in sys.modules if "." not in name} - STARTED_WITH - {"__main__"}
    for name in loaded if names is None else loaded & names:
        if name in sys.builtin_module_names or importlib.machinery.FrozenImporter.find_spec(name):
            continue
        found = importlib.machinery.PathFinder.find_spec(name, [folder])
        if found is not None and found.loader is not None:
            return name
    return None


def version_of(name):
    return str(getattr(sys.modules[name], "__version__", "-"))[:40]


def is_installed(name):
    """Whether the module is a package of the environment, which does not change while it is used."""
    module = sys.modules.get(name)
    spec = module.__spec__ if module is not None else None
    origin = getattr(spec, "origin", None) or ""
    return any(f"/{folder}/" in origin for folder in SITE_FOLDERS)


def fingerprint():
    """Changes when a package is installed or removed, or the interpreter is another one."""
    marks = []
    paths = [sys.executable, *(path for path in sys.path if path.rstrip("/").endswith(SITE_FOLDERS))]
    site = sys.modules.get("site")
    if site is not None and site.ENABLE_USER_SITE and site.USER_SITE not in paths:
        paths.append(site.USER_SITE)  # it may be made
    for path in paths:
        try:
            found = os.stat(path)
            marks.append((path, found.st_ino, found.st_mtime_ns))
        except OSError:
            marks.append((path, 0, 0))
    return marks


# --- the number of threads of libraries that are there already ---------------------------------------------------------

def thread_setters():
    """Of the loaded libraries that read their number of threads when they were loaded: (variables, function)."""
    import ctypes
    libraries = set()
    with open("/proc/self/maps") as maps:
        for line in maps:
            path = line.rstrip("\n").partition("/")[2]
            name = os.path.basename(path)
            if ".so" in name and any(part in name for part in ("blas", "mkl_rt", "gomp", "iomp", "libomp")):
                libraries.add("/" + path)
    names = {
        "openblas_set_num_threads": "OPENBLAS_NUM_THREADS",
        "openblas_set_num_threads64_": "OPENBLAS_NUM_THREADS",
        "scipy_openblas_set_num_threads": "OPENBLAS_NUM_THREADS",
        "scipy_openblas_set_num_threads64_": "OPENBLAS_NUM_THREADS",
        "MKL_Set_Num_Threads": "MKL_NUM_THREADS",
        "omp_set_num_threads": "OMP_NUM_THREADS",
    }
    setters = []
    for path in libraries:
        try:
            library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        except OSError:
            continue
        for name, variable in names.items():
            function = getattr(library, name, None)
            if function is not None:
                function.restype = None
                setters.append(((variable, "OMP_NUM_THREADS"), function))
    return setters


def set_thread_counts(setters):
    for variables, function in setters:
        count = next((os.environ[name] for name in variables if os.environ.get(name, "").isdecimal()), "")
        if count and int(count) > 1:
            function(int(count))
    numba = sys.modules.get("numba.core.config")
    if numba is not None:
        numba.reload_config()
    torch = sys.modules.get("torch")
    if torch is not None and os.environ.get("OMP_NUM_THREADS", "").isdecimal():
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))


# --- from the daemon ---------------------------------------------------------------------------------------------------

class Program:
    """server/workers/program.h; TextOf writes it."""

    def __init__(self, descriptor):
        self.text = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
        self.at = 0
        self.file = self.one()
        self.arguments = self.several()
        self.environment = self.several()
        self.folder = self.one()
        self.memory_bytes = self.number()
        self.umask = self.number()
        del self.text

    def number(self):
        self.at += 8
        return struct.unpack_from("=Q", self.text, self.at - 8)[0]

    def one(self):
        size = self.number()
        self.at += size
        return self.text[self.at - size:self.at]

    def several(self):
        return [self.one() for _ in range(self.number())]


STARTED, NOT_STARTED, STALE, ONLY_ANEW = 0, 1, 3, 4


def news(kind, pid=0, error=0, bad_folder=0):
    """KeeperNews of server/workers/keeper.h."""
    return struct.pack("@8i2qQ", kind, pid, error, bad_folder, 0, 0, 0, 0, 0, 0, 0)


def receive(channel):
    """The descriptors of the next message: None at the end."""
    data, ancillary, _, _ = channel.recvmsg(16, socket.CMSG_SPACE(8 * 4), socket.MSG_CMSG_CLOEXEC)
    if not data:
        return None
    numbers = array.array("i")
    for level, kind, content in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            numbers.frombytes(content[:len(content) - len(content) % numbers.itemsize])
    return numbers


class Zygote:
    def __init__(self, channel, keeper, modules):
        self.channel = channel
        self.keeper = keeper
        self.reports, self.report = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.reports.setblocking(False)
        self.report.setblocking(False)
        self.report_id = os.fstat(self.report.fileno()).st_ino
        self.left_out = set()
        self.fingerprint = fingerprint()
        self.pid = os.getpid()
        self.watch = Watch()
        for name in modules:
            self.tell("trying", name)
            why, whole = import_for_all(name, self.watch)
            if why is None:
                self.tell("import", name, version_of(name))
            else:
                self.left_out.add(name)
                self.tell("left_out", name, why)
            if not whole:
                os._exit(3)  # the daemon begins again without the module
        if thread_count() > 1:
            print("the interpreter itself starts a thread, so that it cannot be forked", file=sys.stderr, flush=True)
            os._exit(1)
        self.told = set(name.partition(".")[0] for name in sys.modules) | self.left_out
        self.setters = thread_setters()

    def tell(self, *words):
        self.channel.send("\0".join(words).encode("utf-8", "replace"))

    def serve(self):
        """Returns in a script's process, with its Program; or None, when the daemon wants no more of this process."""
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for keepers
        # What a batch system sends to all of a job's processes is for the scripts, which would end with this one.
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        gc.collect()
        gc.freeze()  # so that the scripts share the pages
        self.tell("ready", ".".join(map(str, sys.version_info[:3])))
        waits = select.poll()
        waits.register(self.channel, select.POLLIN)
        waits.register(self.reports, select.POLLIN)
        while True:
            for number, _ in waits.poll():
                if number == self.reports.fileno():
                    self.pass_on()
                    continue
                descriptors = receive(self.channel)
                if descriptors is None:
                    self.wait_for_children()
                    return None
                if len(descriptors) in (5, 6):
                    program = self.fork(descriptors)
                    if program is not None:
                        return program
                for descriptor in descriptors:
                    os.close(descriptor)

    def pass_on(self):
        """What a script has imported, to the daemon."""
        try:
            names = self.reports.recv(65536).decode("utf-8", "replace").split("\0")
        except OSError:
            return
        wanted = [name for name in names if name.isidentifier() and name not in self.told]
        self.told.update(wanted)
        if wanted:
            self.tell("wants", *wanted[:MOST_WANTED])

    def wait_for_children(self):
        try:
            os.wait()  # with SIGCHLD ignored: until there is none
        except ChildProcessError:
            pass

    def fork(self, descriptors):
        """In the script's process, the Program."""
        try:
            if os.fork() != 0:
                return None
        except OSError as error:  # no room for a process
            with socket.socket(fileno=os.dup(descriptors[1])) as control:
                control.send(news(NOT_STARTED, error=error.errno))
            return None
        # The keeper, from here to its execv.
        self.keeper_pid = os.getpid()
        control = socket.socket(fileno=descriptors[1])
        try:
            return self.keep(descriptors, control)
        except BaseException as error:
            if os.getpid() != self.keeper_pid:
                raise
            control.send(news(NOT_STARTED, error=getattr(error, "errno", None) or errno.EIO))
            os._exit(1)

    def keep(self, descriptors, control):
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != self.pid:
            os._exit(1)
        program = Program(descriptors[0])
        program.calls = descriptors[5] if len(descriptors) > 5 else None
        if fingerprint() != self.fingerprint:
            control.send(news(STALE))
            os._exit(0)
        try:
            os.chdir(program.folder)
        except OSError as error:
            control.send(news(NOT_STARTED, error=error.errno, bad_folder=1))
            os._exit(0)
        why = self.why_only_anew(program)
        if why is not None:
            control.send(news(ONLY_ANEW))
            control.send(why.encode("utf-8", "replace")[:200])
            os._exit(0)
        ours, scripts = socket.socketpair()
        script = os.fork()
        if script == 0:
            ours.close()
            self.become(program, descriptors, control, scripts)
            return program
        scripts.close()
        ours.recv(1)  # so that the process group is there, to which signals go
        try:
            control.send(news(STARTED, pid=script))
            ours.send(b"1")
        except OSError:  # the daemon has given up, and counts on it that nothing has run
            os._exit(0)
        os.set_inheritable(control.fileno(), True)
        os.execve(self.keeper, [
            "hotplate-keeper", str(control.fileno()), str(script), str(self.pid), str(program.memory_bytes)], {})

    def why_only_anew(self, program):
        """Why a Python that starts anew would not do what a fork of this one does, or None."""
        environment = dict(variable.partition(b"=")[::2] for variable in program.environment)
        for name in self.watch.read - NEVER_MIND:
            if environment.get(os.fsencode(name)) != self.watch.before.get(os.fsencode(name)):
                return f"{name} is not as it was when the warm Python's modules read it"
        # A worker for functions begins its path as -c does.
        words = ["-c"] if program.calls is not None else [os.fsdecode(word) for word in program.arguments[1:]]
        folder = path_begins_with(words)
        name = None if folder is None else hides(folder or os.getcwd())
        return name and f"the module {name} in its folder hides one that is kept warm"

    def become(self, program, descriptors, control, keeper):
        """Makes this process what a fresh interpreter would be."""
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != self.keeper_pid:
            os._exit(1)
        os.setsid()
        keeper.send(b"1")
        if keeper.recv(1) != b"1":
            os._exit(1)
        keeper.close()
        try:
            with open("/proc/self/oom_score_adj", "w") as score:
                score.write("500")  # better a user's program than the daemon with everybody's arrays
        except OSError:
            pass
        os.umask(program.umask)
        for number in range(3):
            os.dup2(descriptors[2 + number], number)
        control.close()
        self.channel.close()
        self.reports.close()
        for descriptor in (descriptors[0], *descriptors[2:5]):
            os.close(descriptor)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        set_by_modules = self.watch.has_set()
        os.environ.clear()
        for variable in program.environment:
            name, _, value = variable.partition(b"=")
            os.environb[name] = value
        os.environb.update(set_by_modules)
        time.tzset()
        prctl(PR_SET_NAME, os.path.basename(program.file)[:15])
        if "numpy.random" in sys.modules:
            sys.modules["numpy.random"].seed()  # else each script would draw the same numbers; `random` sees to it itself
        set_thread_counts(self.setters)
        gc.enable()

    def say_what_was_imported(self):
        """At a script's end, last of all."""
        names = {name.partition(".")[0] for name in list(sys.modules)} - self.told
        names = sorted(name for name in names if is_installed(name))[:MOST_WANTED]
        try:
            # Unless the script has closed it, and the number is another one's now.
            if names and os.fstat(self.report.fileno()).st_ino == self.report_id:
                self.report.send("\0".join(names).encode("utf-8", "replace"))
        except OSError:
            pass


# --- the script --------------------------------------------------------------------------------------------------------

def new_main():
    import builtins
    import types
    main = types.ModuleType("__main__")
    main.__builtins__ = builtins
    if sys.version_info < (3, 14):
        main.__annotations__ = {}
    sys.modules["__main__"] = main
    return main


def code_of(path):
    loaders = importlib.machinery
    if path.endswith(".pyc"):
        loader = loaders.SourcelessFileLoader("__main__", path)
        return loader, loader.get_code("__main__")
    with io.open_code(path) as file:
        source = file.read()
    return loaders.SourceFileLoader("__main__", path), compile(source, path, "exec", dont_inherit=True)


def is_importable(path):
    """Whether it is a folder or an archive, of which __main__ is to be run."""
    for hook in sys.path_hooks:
        try:
            hook(path)
            return True
        except ImportError:
            pass
    return False


def absolute(path):
    return path if path.startswith("/") else f"{os.getcwd()}/{path}"  # as it is otherwise


def path_begins_with(words):
    """The folder that an interpreter with these arguments puts first into sys.path, or None."""
    if words[0] not in ("-m", "-c"):
        path = absolute(words[0])
        if is_importable(path):
            return path
    if getattr(sys.flags, "safe_path", False):
        return None
    if words[0] == "-c":
        return ""
    return os.getcwd() if words[0] == "-m" else os.path.dirname(os.path.realpath(path))


def run(arguments):
    """As the interpreter does with these arguments."""
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    words = [os.fsdecode(word) for word in arguments]
    if hasattr(sys, "orig_argv"):
        sys.orig_argv[:] = words
    words = words[1:]
    main = new_main()
    folder = path_begins_with(words)
    sys.argv[:] = words
    is_module = words[0] == "-m"
    if is_module or (words[0] != "-c" and is_importable(absolute(words[0]))):
        import runpy
        if is_module:
            sys.argv[:] = ["-m", *words[2:]]
        if folder is not None:
            sys.path.insert(0, folder)
        runpy._run_module_as_main(words[1] if is_module else "__main__", is_module)
        return
    if words[0] == "-c":
        sys.argv[:] = ["-c", *words[2:]]
        code = compile(words[1], "<string>", "exec", dont_inherit=True)
        main.__loader__ = importlib.machinery.BuiltinImporter
    else:
        path = absolute(words[0])
        try:
            main.__loader__, code = code_of(path)
        except OSError as error:
            print(f"{sys.executable}: can't open file {path!r}: [Errno {error.errno}] {error.strerror}",
                  file=sys.stderr)
            sys.exit(2)
        main.__file__ = path
        main.__cached__ = None
    if folder is not None:
        sys.path.insert(0, folder)
    exec(code, main.__dict__)


def without_ours(hook):
    """An excepthook that shows of a traceback what is the script's."""

    def show(kind, error, traceback):
        while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
            traceback = traceback.tb_next
        hook(kind, error.with_traceback(traceback), traceback)

    return show


def main():
    """What this process has become: a Zygote, and the Program of a fork of its."""
    global LIBC
    if sys.version_info < (3, 9):
        sys.exit("Python 3.9 or later is needed")
    if not os.path.samefile(sys.executable, sys.argv[3]):  # as pyenv does, by the folder that a script begins in
        sys.exit(f"{sys.argv[3]} starts another interpreter: set HOTPLATE_PYTHON to that, {sys.executable}")
    import ctypes
    LIBC = ctypes.CDLL(None)
    channel = socket.socket(fileno=int(sys.argv[1]))
    for name in THREAD_COUNTS[:3]:
        os.environ[name] = "1"
    zygote = Zygote(channel, sys.argv[2], sys.argv[4:])
    return zygote, zygote.serve()


def run_calls(number):
    """This process becomes a worker for functions, with this socket."""
    import types
    path = os.path.join(os.path.dirname(__file__), "hotplate_calls.py")
    loader = importlib.machinery.SourceFileLoader("__hotplate_calls__", path)
    module = types.ModuleType(loader.name)
    module.__file__ = path
    exec(compile(loader.get_data(path), path, "exec"), module.__dict__)
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    module.serve(number)


ZYGOTE, PROGRAM = main()
if PROGRAM is not None:
    # Here, so that the interpreter itself ends what it begins: exit codes, tracebacks, threads, atexit.
    atexit.register(ZYGOTE.say_what_was_imported)
    try:
        if PROGRAM.calls is None:
            run(PROGRAM.arguments)
        else:
            run_calls(PROGRAM.calls)
    except SystemExit:
        raise
    except BaseException:
        sys.excepthook = without_ours(sys.excepthook)
        raise
