#!/usr/bin/python3
"""Reads the #includes of all sources and names those that cross the layers, and the CMake files and scripts of the product
that name tests/.

usage: check_layers.py [ROOT]        prints FILE:LINE: what is wrong, and exits with 1 if there is anything

Who may include whom, innermost first:
  kernels/array   the standard library and POSIX
  kernels/base    kernels/array, absl
  proto/codec     kernels/array, absl, protobuf, gRPC, libcrypto (which gRPC brings)
  kernels/expression  kernels/array, kernels/base/nearest_names.h, kernels/call: both sides of the wire link it
  kernels         kernels, absl, numeric libraries; what nvcc compiles reaches no absl, by whatever road
  server/core     kernels, absl
  server/journal  kernels/array and /base, absl, libcrypto, SQLite: a leaf, which the command links too
  server          the core, kernels, proto/codec, absl, protobuf, gRPC, any library
  client/lib      kernels/array and /base, proto/codec, absl, protobuf, gRPC, libcrypto (which gRPC brings)
  client/cli      client/lib, server/journal, kernels/array, /base and /expression, proto/codec, absl, protobuf, any library
  client/python   client/lib, kernels/array and /expression, absl, protobuf, pybind11
Every layer may include kernels/base/mutex.h, for which nothing needs to be linked.
The daemon, the command, and kernels/devices/cuda/compiler alone run programs. Tests may include anything. Preprocessor questions about CUDA are asked in kernels/devices/cuda only: elsewhere a missing back-end
means zero devices (__CUDACC__ and __CUDA_ARCH__ are allowed: they are how one functor is compiled for both sides).
The callbacks of the daemon's gRPC reactors are noexcept (server/service/context.h says why).
"""

import pathlib
import re
import sys

FOLDERS = ("proto", "kernels", "server", "client")
SUFFIXES = {".h", ".cpp", ".cc", ".cu", ".cuh", ".inc"}
PRODUCT = FOLDERS + ("proto", "deploy")
SCRIPTS = {".cmake", ".in", ".json", ".py", ".sh", ".toml"}
NAMES_TESTS = re.compile(r"\btests/")

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
CUDA_QUESTION = re.compile(r"^\s*#\s*(?:if|ifdef|ifndef|elif)\b.*CUDA")
CUDA_COMPILER = re.compile(r"\b__CUDA_?(?:CC|_ARCH)_*\w*\b|\b__CUDA_ARCH__\b|\b__CUDACC__\b")

CALLBACK = re.compile(r"\bvoid On(?:\w*Done|Cancel)\(.*\b(?:override|final)\b")

POSIX = re.compile(r"(?:sys|linux|netinet|arpa|net|bits)/[\w/]+\.h|(?:assert|cpuid|ctype|dirent|dlfcn|errno|fcntl|fenv|float"
                   r"|limits|link|locale|math|netdb|poll|pthread|pwd|sched|semaphore|setjmp|signal|stdarg|stddef|stdint"
                   r"|spawn|stdio|stdlib|string|strings|termios|time|unistd|wchar)\.h")
NUMERIC = re.compile(r"(?:cblas|lapacke|omp|openblas_config|immintrin|x86intrin|arm_neon)\.h|openblas/.*|Random123/.*|hwy/.*"
                     r"|Eigen/.*|pocketfft.*|(?:cuda|cublas|cusolver|cufft|cusparse|curand|nvrtc|nvml|driver_types|vector_"
                     r"|math_constants)\w*\.h|(?:cub|thrust|cuda|nvtx3|cooperative_groups)(?:/.*|\.h)|png\.h|zlib\.h")


def kind_of(path):
    """Which party an include belongs to: a folder of ours, or a library."""
    if path in ("kernels/base/run_program.h", "kernels/base/slurm.h"):
        return "programs"
    if path == "kernels/base/mutex.h":
        return "locks"
    if path == "kernels/base/nearest_names.h":
        return "names"
    for folder in ("proto/codec", "kernels/array", "kernels/base", "kernels/call", "kernels/expression", "kernels", "server/core", "server/journal", "server", "client/lib", "client/cli", "client/python", "client",
                   "tests"):
        if path.startswith(folder + "/"):
            return folder
    if path.startswith(("grpc/", "grpcpp/", "grpc++/")) or path.endswith(".grpc.pb.h"):
        return "gRPC"
    if path.startswith(("google/", "hotplate/v1/")) or path.endswith(".pb.h"):
        return "protobuf"
    if path == "hotplate/client.h":  # as installed; the example is written as a user would
        return "client/lib"
    if path.startswith("absl/"):
        return "absl"
    if POSIX.fullmatch(path) or ("/" not in path and "." not in path):
        return "the standard library"
    if path.startswith("openssl/"):
        return "libcrypto"
    if path.startswith("SQLiteCpp/") or path == "sqlite3.h":
        return "SQLite"
    if NUMERIC.fullmatch(path):
        return "numeric library"
    return "other library"


EVERYBODY = {"the standard library", "locks"}
KERNELS = {"names", "kernels", "kernels/array", "kernels/base", "kernels/call", "kernels/expression"}
LAYERS = (  # (folder, what it may include); the first folder that holds a file counts
    ("kernels/array", EVERYBODY | {"kernels/array"}),
    ("kernels/base", EVERYBODY | {"kernels/base", "names", "kernels/array", "programs", "absl"}),
    ("proto/codec", EVERYBODY | {"proto/codec", "kernels/array", "absl", "protobuf", "gRPC", "libcrypto"}),
    ("kernels/expression", EVERYBODY | {"kernels/expression", "kernels/array", "names", "kernels/call"}),
    ("kernels/devices/cuda/compiler", EVERYBODY | KERNELS | {"programs", "absl", "libcrypto"}),
    ("kernels", EVERYBODY | KERNELS | {"absl", "numeric library"}),
    ("server/core", EVERYBODY | KERNELS | {"server/core", "absl"}),
    ("server/journal", EVERYBODY | {"server/journal", "kernels/array", "kernels/base", "absl", "libcrypto", "SQLite"}),
    ("server", EVERYBODY | KERNELS | {"server", "server/core", "server/journal", "proto/codec", "programs", "absl",
                                      "protobuf", "gRPC", "libcrypto", "other library", "numeric library"}),
    ("client/lib", EVERYBODY | {"client/lib", "kernels/array", "kernels/base", "names", "proto/codec", "absl", "protobuf", "gRPC",
                                "libcrypto"}),
    ("client/cli", EVERYBODY | {"client/cli", "client/lib", "kernels/array", "kernels/base", "names", "kernels/expression",
                                "proto/codec", "server/journal", "programs",
                                "absl", "protobuf", "libcrypto", "other library", "numeric library"}),
    ("client/python", EVERYBODY | {"client/python", "client/lib", "kernels/array", "kernels/expression", "absl", "protobuf",
                                   "other library"}),
)


def includes_of(root, file):
    """(line number, included path) for each include; a path beside the file is given from the root."""
    for number, line in enumerate((root / file).read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        found = INCLUDE.match(line)
        if not found:
            continue
        quoted, angled = found.groups()
        path = quoted or angled
        beside = (root / file).parent / path
        if quoted and not (root / path).exists() and beside.exists():
            path = str(beside.resolve().relative_to(root.resolve()))
        yield number, path


def absl_road(root, file, seen):
    """The chain of our own files by which `file` reaches absl, or None."""
    for _, path in includes_of(root, file):
        if kind_of(path) == "absl":
            return [file, path]
        if path not in seen and path.startswith(FOLDERS) and (root / path).is_file():
            seen.add(path)
            further = absl_road(root, path, seen)
            if further:
                return [file] + further
    return None


def check_file(root, file):
    layer, allowed = next(((folder, parties) for folder, parties in LAYERS if file.startswith(folder + "/")), (None, None))
    problems = []
    for number, path in includes_of(root, file):
        kind = kind_of(path)
        if layer and kind not in allowed:
            problems.append(f"{file}:{number}: {layer} may not include {path} ({kind})")
        elif path == "kernels/base/run_program.h" and layer not in ("kernels/base", "kernels/devices/cuda/compiler", "server", "client/cli"):
            problems.append(f"{file}:{number}: {layer} runs no programs, and may not include {path}")
        if file.endswith((".cu", ".cuh")):
            if kind == "absl":
                problems.append(f"{file}:{number}: what nvcc compiles may not include {path}")
            elif path.startswith(FOLDERS) and (root / path).is_file():
                road = absl_road(root, path, {path})
                if road:
                    problems.append(f"{file}:{number}: what nvcc compiles reaches absl: {' -> '.join(road)}")
    lines = (root / file).read_text(encoding="utf-8", errors="replace").splitlines()
    if layer == "server":
        problems += [f"{file}:{number}: gRPC swallows what this throws, and the call stands still: make it noexcept: {line.strip()}"
                     for number, line in enumerate(lines, 1) if CALLBACK.search(line) and "noexcept" not in line]
    if not file.startswith("kernels/devices/cuda/"):
        for number, line in enumerate(lines, 1):
            if CUDA_QUESTION.match(line) and "CUDA" in CUDA_COMPILER.sub("", line):
                problems.append(f"{file}:{number}: a preprocessor question about CUDA outside kernels/devices/cuda: {line.strip()}")
    return problems


def sources(root):
    return sorted(str(path.relative_to(root)) for folder in FOLDERS for path in (root / folder).rglob("*")
                  if path.suffix in SUFFIXES and path.is_file())


def scripts(root):
    """The CMake files and scripts by which the product is built, packed and installed."""
    found = [path for folder in PRODUCT for path in (root / folder).rglob("*")
             if path.is_file() and (path.suffix in SCRIPTS or path.name == "CMakeLists.txt")]
    return sorted(str(path.relative_to(root)) for path in found + list(root.glob("CMakeLists.txt")))


def check_script(root, file):
    lines = (root / file).read_text(encoding="utf-8", errors="replace").splitlines()
    return [f"{file}:{number}: the product reads nothing from tests/: {line.strip()}" for number, line in enumerate(lines, 1)
            if NAMES_TESTS.search(re.split(r"(?:^|\s)#", line)[0])]


def check(root):
    """All crossings below root, as lines of text."""
    root = pathlib.Path(root)
    return ([problem for file in sources(root) for problem in check_file(root, file)] +
            [problem for file in scripts(root) for problem in check_script(root, file)])


def main(arguments):
    root = arguments[0] if arguments else pathlib.Path(__file__).resolve().parents[2]
    problems = check(root)
    print("\n".join(problems) if problems else f"{len(sources(pathlib.Path(root))) + len(scripts(pathlib.Path(root)))} files keep to their layers")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
