"""What is run by Python and by `hotplate python` warm, and must come to the same (warm_test.py)."""

# Scripts, by what is tried with them.
# Not in here: messages about bytes that are no source text, which the interpreter reads otherwise from a file; and the frames
# below the script's, which are hotplate_worker.py's.
SCRIPTS = {
    "print": "print('hello', 1)",
    "nothing": "",
    "print without newline": "print('a', end='')",
    "unicode": "print('caf\\u00e9 \\U0001f525')",
    "docstring": "'''what it is'''\nprint(__doc__)",
    "uncaught": "def f():\n    raise ValueError('of mine')\nf()",
    "uncaught, chained": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise KeyError('x') from e",
    "uncaught, in context": "try:\n    1 / 0\nexcept ZeroDivisionError:\n    {}['x']",
    "uncaught in an import": "import importlib\nimportlib.import_module('no_such_module')",
    "uncaught, a group": "raise ExceptionGroup('two', [ValueError(1), TypeError(2)])",
    "uncaught in a function of the library": "import json\njson.loads('{')",
    "syntax": "print('never')\nx = = 1\n",
    "syntax of a line's end": "f(\n",
    "syntax, unindent": "if 1:\n    pass\n  pass\n",
    "syntax in an import": "exec(compile('1 +', 'x', 'exec'))",
    "syntax warning": "print(1 is 1)",
    "cookie": b"# -*- coding: latin-1 -*-\nprint(ascii('\xe9'))",
    "byte order mark": b"\xef\xbb\xbfprint('bom')",
    "exit None": "import sys; sys.exit()",
    "exit 0": "raise SystemExit(0)",
    "exit 7": "import sys; sys.exit(7)",
    "exit 300": "import sys; sys.exit(300)",
    "exit text": "import sys; sys.exit('why')",
    "exit object": "import sys; sys.exit([1, 2])",
    "exit True": "raise SystemExit(True)",
    "exit in a function": "def f():\n    exit(4)\nf()",
    "os._exit": "import os; print('a', flush=True); os._exit(5)",
    "keyboard interrupt": "def f():\n    raise KeyboardInterrupt\nf()",
    "keyboard interrupt with text": "raise KeyboardInterrupt('x')",
    "atexit": "import atexit\natexit.register(print, 'first')\natexit.register(print, 'second')\nprint('main')",
    "atexit raises": "import atexit\natexit.register(lambda: 1 / 0)",
    "threads": """
        import threading
        go_on = threading.Event()
        def work():
            go_on.wait()
            print('thread')
        threading.Thread(target=work).start()
        print('main', threading.active_count(), threading.current_thread().name, threading.main_thread().name)
        go_on.set()
        """,
    "a thread raises": "import threading\nt = threading.Thread(target=lambda: 1 / 0, name='T')\nt.start()\nt.join()\nprint('on')",
    "daemon thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,), daemon=True).start()\nprint('on')",
    "names": """
        import sys
        print(__file__, __name__, __spec__, __package__, __loader__.__class__.__name__, __builtins__.__name__)
        print(sorted(globals()), __annotations__, __cached__)
        """,
    "sys": """
        import sys
        print(sys.argv, sys.path, sys.flags, sys.executable, sys.prefix, sys.base_prefix)
        print(getattr(sys, 'orig_argv', None))
        print(sys.warnoptions, sys._xoptions, sys.dont_write_bytecode, sys.getrecursionlimit(), sys.getswitchinterval())
        print(sys.meta_path, sys.path_hooks)
        print(sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__, sys.gettrace(), sys.getprofile())
        """,
    "streams": """
        import sys
        for stream in (sys.stdin, sys.stdout, sys.stderr):
            print(stream.fileno(), stream.name, stream.mode, stream.encoding, stream.errors, stream.isatty(),
                  stream.line_buffering, stream.write_through, stream is getattr(sys, '__' + stream.name[1:-1] + '__'))
        """,
    "locale": """
        import locale, sys, time
        print(locale.setlocale(locale.LC_ALL), locale.getpreferredencoding(), sys.getfilesystemencoding(), time.tzname)
        """,
    "folder and umask": "import os; print(os.getcwd()); mask = os.umask(0); os.umask(mask); print(mask)",
    "pickling": """
        import pickle
        class C:
            pass
        made = pickle.loads(pickle.dumps(C()))
        print(type(made) is C, C.__module__, C)
        """,
    "multiprocessing, fork": """
        import multiprocessing
        def square(x):
            return x * x
        if __name__ == '__main__':
            with multiprocessing.get_context('fork').Pool(2) as pool:
                print(pool.map(square, range(5)))
        """,
    "multiprocessing, spawn": """
        import multiprocessing
        def square(x):
            return x * x
        if __name__ == '__main__':
            with multiprocessing.get_context('spawn').Pool(1) as pool:
                print(pool.map(square, range(5)))
            print(multiprocessing.current_process().name, multiprocessing.parent_process())
        """,
    "a process pool": """
        import concurrent.futures
        if __name__ == '__main__':
            with concurrent.futures.ProcessPoolExecutor(2) as pool:
                print(list(pool.map(abs, [-1, -2])))
        """,
    "fork": """
        import os, sys
        child = os.fork()
        if child == 0:
            sys.exit(6)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
    "subprocess": "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'exit(3)']).returncode)",
    "asyncio": "import asyncio\nasync def f():\n    await asyncio.sleep(0)\n    print('in')\nasyncio.run(f())",
    "signals": """
        import os, signal
        for number in sorted(signal.valid_signals()):
            print(number, signal.getsignal(number), end=' ')
        print(signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.sigpending())
        signal.signal(signal.SIGUSR1, lambda *_: print('handled'))
        os.kill(os.getpid(), signal.SIGUSR1)
        """,
    "the signals of a child": "import subprocess\nsubprocess.run(['grep', '^Sig[BI]', '/proc/self/status'])",
    "excepthook": "import sys\nsys.excepthook = lambda kind, error, tb: print(kind, error, tb.tb_lineno, tb.tb_next)\n1 / 0",
    "unraisable": "class C:\n    def __del__(self):\n        1 / 0\ndel C().x",
    "at the end": "class C:\n    def __del__(self):\n        print('deleted')\nkept = C()",
    "closed output": "import sys; sys.stdout.close()",
    "descriptors": "import os; print(sorted(os.listdir('/proc/self/fd'), key=int)[:3])",
    "the name of the process": "print(open('/proc/self/comm').read())",
    "environment": "import os\nfor item in sorted(os.environ.items()): print(*item)",
    "environment of a child": "import subprocess\nsubprocess.run('env | sort', shell=True)",
    "scheduling": "import os, resource; print(os.sched_getaffinity(0), os.nice(0), resource.getrlimit(resource.RLIMIT_NOFILE))",
    "a module beside it": "import beside; print(beside.__file__, beside.__name__)",
    "a module beside it that is called as one of the library": "import statistics; print(statistics.mine)",
    "numpy": "import numpy; print(numpy.arange(4).sum(), numpy.__file__, numpy.get_printoptions())",
    "modules": """
        import sys
        import numpy.linalg, json, ctypes
        print(all(sys.modules[name].__name__ == name for name in ('numpy', 'numpy.linalg', 'json', 'ctypes', '__main__')))
        print('hotplate_worker' in sys.modules, sys.modules['__main__'].__file__)
        """,
    "warnings": "import warnings; warnings.warn('of mine')",
    "logging": "import logging; logging.warning('of mine'); print(logging.getLogger().handlers)",
    "garbage": "import gc; print(gc.isenabled(), gc.get_threshold(), gc.get_debug())",
    "recursion": "def f(): f()\ntry:\n    f()\nexcept RecursionError as error:\n    print(error)",
    "input": "print(input(), input())",
    "all of the input": "import sys; print(len(sys.stdin.read()), sys.stdin.closed)",
    "tempfile": "import tempfile; print(tempfile.gettempdir(), tempfile.tempdir)",
    "inspect": "import inspect\ndef f(): pass\nprint(inspect.getsource(f), inspect.getmodule(f).__name__)",
    "dataclass": "import dataclasses, typing\n@dataclasses.dataclass\nclass C:\n    x: 'int'\nprint(typing.get_type_hints(C))",
    "doctest": "'''\n>>> 1 + 1\n2\n'''\nimport doctest; print(doctest.testmod())",
    "unittest": "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.fail('x')\nunittest.main(argv=['x', 'T.no'])",
    "its own frames": "import sys\nprint(sys._getframe().f_code.co_name, sys._getframe().f_globals is globals())",
}
# What follows `python`; {0}: the folder.
WORDS = {
    "missing file": ["no_such_script.py"],
    "missing file with a path": ["{0}/no/such.py", "x"],
    "a folder that is no package": ["empty"],
    "a folder": ["folder", "x"],
    "a folder with a path": ["{0}/folder"],
    "a zip": ["packed.pyz", "x"],
    "a relative path": ["folder/inner.py", "a", "-b"],
    "a path with dots": ["./folder/../folder/inner.py"],
    "a link": ["link.py"],
    "bytecode": ["compiled.pyc"],
    "a file without an ending": ["bare"],
    "a file that cannot be read": ["folder/__main__.py/x"],
    "-c": ["-c", "import sys; print(sys.argv, sys.path[0], sorted(globals()), __loader__, __spec__, __name__)", "x", "-y"],
    "-c raises": ["-c", "def f():\n    1 / 0\nf()"],
    "-c with a wrong syntax": ["-c", "x = = 1"],
    "-c of a module beside it": ["-c", "import beside; print(beside.__file__)"],
    "-c empty": ["-c", ""],
    "-m of a file": ["-m", "beside", "x"],
    "-m of a package": ["-m", "package", "x"],
    "-m of a module in a package": ["-m", "package.raises"],
    "-m of the library": ["-m", "platform"],
    "-m of json.tool": ["-m", "json.tool", "data.json"],
    "-m of a missing module": ["-m", "no_such_module"],
    "-m of a package without __main__": ["-m", "json"],
    "-m of a missing module in a package": ["-m", "package.none"],
    "-m numpy": ["-m", "numpy"],
}
