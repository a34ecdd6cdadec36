"""Where things lie: the programs (in an unpacked bundle, or in a build folder), the catalogue, CUDA's libraries."""

import glob
import json
import os
import pathlib
import re
import struct
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
                raise SystemExit(f"run: there is no {needed}: run me from an unpacked kit (tests/gpu/pack.sh makes one), or "
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

    def python_packages(self):
        """Folders with the package hotplate, for the Pythons that it was built for."""
        folder = self.root / "python" if self.bundle else self.bin.parent / "python"
        return [folder] if folder.is_dir() else []

    def plugins(self):
        folder = self.libexec if self.bundle else self.bin
        return sorted(folder.glob("libhotplate_cuda*.so"), reverse=True)  # the newest CUDA's first


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
    for variable in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "EBROOTCUDA", "CUDATOOLKIT_HOME"):
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


def libraries_named_in(plugin):
    """The names under which a plug-in asks for CUDA's libraries (kernels/catalogue/cuda_table.cpp), from the file itself."""
    return sorted({name.decode() for name in re.findall(rb"\b(?!libcuda\.so|libnvidia)lib(?:cu|nv)\w+\.so\.\d+", plugin.read_bytes())})


# What CUDA says where a program was built by another CUDA, or for other devices.
OTHER_BUILD = re.compile(r"driver version is insufficient|no kernel image is available|unsupported toolchain"
                         r"|this plug-in needs \d+\.\d+ or later|has no code in this plug-in")


def built_for_others(program, said):
    """Why this program, which is built by the newest CUDA alone, cannot run here though the plug-in of an older one
    may; empty if what it said is something else."""
    return f"{program} is not built for this driver or device: {said.strip()[:300]}" if OTHER_BUILD.search(said) else ""


def linked_with(file):
    """All that an ELF file is linked with (DT_NEEDED). One that is cut off or garbled raises what reading comes upon."""
    def read(offset, layout):
        file.seek(offset)
        return struct.unpack(layout, file.read(struct.calcsize(layout)))

    ident, first, size, count = read(0, "<6s34xQ10xHH2x")
    if ident != b"\x7fELF\x02\x01":
        return []
    sections = [read(first + i * size, "<4xI16xQQI4x16x") for i in range(count)]  # type, offset, bytes, link
    dynamic = next((one for one in sections if one[0] == 6), None)
    if dynamic is None:
        return []
    file.seek(sections[dynamic[3]][1])
    text = file.read(sections[dynamic[3]][2])
    entries = [read(dynamic[1] + at, "<qQ") for at in range(0, dynamic[2], 16)]
    return [text[place:text.index(b"\0", place)].decode() for tag, place in entries if tag == 1]


def needed_by(library):
    """Those of CUDA's libraries that this one is linked with: pip has each in a folder of its own. None of what is no whole
    library or cannot be read: the loader says what is wrong with that."""
    try:
        with open(library, "rb") as file:
            names = linked_with(file)
    except (OSError, struct.error, IndexError, ValueError, OverflowError, MemoryError):
        return []
    return [name for name in names if re.match(r"(?!libcuda\.so|libnvidia)lib(cu|nv)", name)]


def find_cuda_libraries(plugin, python=sys.executable):
    """({name: (origin, folder)}, {name: who needs it} of those not found) of all that a plug-in calls, and what these need."""
    folders = cuda_library_folders(python)
    wanted = {name: plugin.name for name in libraries_named_in(plugin)}
    found, missing, to_find = {}, {}, list(wanted)
    for name in to_find:
        place = next((one for one in folders if os.path.exists(f"{one[1]}/{name}")), None)
        if place is None:
            missing[name] = wanted[name]
            continue
        found[name] = place
        for needed in needed_by(f"{place[1]}/{name}"):
            if needed not in wanted:
                wanted[needed] = name
                to_find.append(needed)
    return found, missing
