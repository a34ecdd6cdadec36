"""Where things lie: the programs (in an unpacked bundle, or in a build folder), the catalogue, CUDA's libraries."""

import glob
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parents[1]


class Place:
    def __init__(self):
        root = HERE.parents[1]
        self.root = root
        self.bundle = (root / "libexec/hotplate/programs").is_dir()
        if self.bundle:
            self.bin = root / "bin"
            self.libexec = root / "libexec/hotplate"
            share = root / "share/hotplate"
            self.manifest = json.loads((root / "MANIFEST.json").read_text(encoding="utf-8"))
            self.faulting = self.libexec / "faulting"
        else:
            self.bin = pathlib.Path(os.environ.get("HOTPLATE_BIN_DIR", root / "build/release/bin"))
            share = self.bin.parent / "share/hotplate"
            self.manifest = {"version": None, "git_revision": revision(root)}
            self.faulting = self.bin / "faulting"
        for needed in (self.bin / "hotplate", self.bin / "hotplated", share / "catalogue.json"):
            if not needed.exists():
                raise SystemExit(f"run: there is no {needed}: run me from an unpacked bundle (deploy/bundle.sh makes one), or "
                                 "build the release preset and set HOTPLATE_BIN_DIR to its bin folder")
        self.kernels = json.loads((share / "catalogue.json").read_text(encoding="utf-8"))["kernels"]

    def kernel_names(self):
        return [kernel["name"] for kernel in self.kernels]

    def program(self, name):
        """The command that starts one of our programs; None if it was not built (without nvcc)."""
        if name == "hotplate" or not self.bundle:
            path = self.bin / name
        elif name == "hotplated":
            path = self.bin / name
        else:
            path = self.libexec / "bin" / name
        return [str(path)] if path.exists() else None

    def loader_command(self, name, loader=None):
        """The same without the launcher script: (command, additions to the environment), best first. `loader` is
        another file to start it by."""
        if not self.bundle:
            return [([str(self.bin / name)], {})]
        libraries = f"{self.libexec}/glibc:{self.libexec}/lib"
        inherited = os.environ.get("LD_LIBRARY_PATH")
        with_inherited = f"{libraries}:{inherited}" if inherited else libraries
        program = str(self.libexec / "programs" / name)
        own = [str(loader or self.libexec / name), "--library-path", with_inherited, program]
        host = ":".join([f"{self.libexec}/lib"] + ([inherited] if inherited else []))
        return [(own, {}), ([program], {"LD_LIBRARY_PATH": host})]

    def plugins(self):
        folder = self.libexec if self.bundle else self.bin
        return sorted(folder.glob("libhotplate_cuda*.so"))

    def cuda_majors(self):
        return [int(re.search(r"cuda(\d+)\.so$", path.name).group(1)) for path in self.plugins()]


def revision(root):
    try:
        found = subprocess.run(["git", "-C", str(root), "describe", "--always", "--dirty"], capture_output=True, text=True,
                               check=False, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout.strip() or None


def site_packages(python):
    """The folders in which that Python looks for packages."""
    command = [python, "-c", "import sys; print('\\n'.join(sys.path))"]
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line for line in found.stdout.splitlines() if os.path.isdir(line)]


def cuda_library_folders(python=sys.executable):
    """Folders that may hold CUDA's libraries, in the order in which they are looked through, with what named them."""
    places = [("HOTPLATE_CUDA_LIBRARY_PATH", folder)
              for folder in os.environ.get("HOTPLATE_CUDA_LIBRARY_PATH", "").split(":") if folder]
    for variable in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "EBROOTCUDA"):
        if os.environ.get(variable):
            places += [(variable, f"{os.environ[variable]}/lib64"), (variable, f"{os.environ[variable]}/lib")]
    places += [("LD_LIBRARY_PATH", folder) for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":") if folder]
    for toolkit in ["/usr/local/cuda"] + sorted(glob.glob("/usr/local/cuda-*"), reverse=True):
        places += [("toolkit", f"{toolkit}/lib64"), ("toolkit", f"{toolkit}/targets/x86_64-linux/lib")]
    for folder in site_packages(python):
        places += [("site-packages", found) for found in sorted(glob.glob(f"{folder}/nvidia/*/lib"))]
    places += [("system", "/usr/lib/x86_64-linux-gnu"), ("system", "/usr/lib64")]
    seen, found = set(), []
    for origin, folder in places:
        real = os.path.realpath(folder)
        if real not in seen and os.path.isdir(real):
            seen.add(real)
            found.append((origin, folder))
    return found


def find_cublaslt(majors, python=sys.executable):
    """[(origin, folder)] of the first libcublasLt of each of these CUDA versions, the newest version first."""
    found = []
    for major in sorted(majors, reverse=True):
        for origin, folder in cuda_library_folders(python):
            if os.path.exists(f"{folder}/libcublasLt.so.{major}"):
                found.append((origin, folder))
                break
    return found
