#!/usr/bin/env bash
# Installs the Python package as a cluster's users do: a wheel of deploy/wheel.sh, into a fresh environment. Runs its tests on
# what pip installed, beside NumPy, SciPy, gRPC and Arrow as PyPI has them, against a daemon of BUILD_FOLDER.
#   usage: tests/python/installed.sh [BUILD_FOLDER [PYTHON [NUMPY]]]
#   BUILD_FOLDER  for its hotplated (build/release)     PYTHON  another one with its headers (/usr/bin/python3)
#   NUMPY  a version, such as 1.26.4 (the newest)
# Where PyPI cannot be reached, it says so and exits with 77 (skipped). Minutes, less with ccache.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(realpath "${1:-build/release}")
export HOTPLATE_BIN_DIR=$build/bin

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
step() { printf '\n== %s\n' "$*"; }
skip() { echo "installed.sh: SKIPPED: $*" >&2; exit 77; }

[ -x "$HOTPLATE_BIN_DIR/hotplated" ] || { echo "installed.sh: no hotplated in $build: build first" >&2; exit 1; }
python=${2:-/usr/bin/python3}
numpy=numpy${3:+==$3}
$python -c 'import ensurepip' 2>/dev/null || skip "$python has no venv (deploy/install-deps.sh --tests installs it)"
$python -m venv "$work/venv"
pip=("$work/venv/bin/pip" --disable-pip-version-check)
"${pip[@]}" download -q --no-deps -d "$work/probe" 'scikit-build-core>=0.10' >"$work/log" 2>&1 ||
  skip "pip cannot get what builds the package: $(grep -m1 '^ERROR' "$work/log" || tail -n 1 "$work/log")"

step "deploy/wheel.sh"
deploy/wheel.sh "$work/wheels" "$python"
if [ "$(getconf GNU_LIBC_VERSION)" = "glibc 2.36" ] && ! ls "$work"/wheels/*-manylinux_2_34_x86_64.whl; then
  echo "installed.sh: the page on Python promises manylinux_2_34_x86_64 of what Debian 12 builds: $(ls "$work/wheels")" >&2
  exit 1
fi

step "pip install"
"${pip[@]}" install --only-binary numpy "$numpy" "$work"/wheels/hotplate-*.whl | tail -n 1
"$work/venv/bin/hotplate" --version
# The libraries that auditwheel copied into the wheel, and those that are linked into the command.
for list in auditwheel hotplate; do
  "$work/venv/bin/python" -c '
import importlib.metadata, json, sys
[file] = [one for one in importlib.metadata.files("hotplate") if one.match(f"*.dist-info/sboms/{sys.argv[1]}.cdx.json")]
assert any(one["name"].startswith("libgrpc") for one in json.loads(file.read_text())["components"])' $list
done

step "Its tests"
# What it is beside in one process. What PyPI has not for this Python, the tests skip and name.
"${pip[@]}" install -q --only-binary numpy,scipy "$numpy" scipy pytest hypothesis mypy
for neighbour in tqdm grpcio protobuf pyarrow; do
  "${pip[@]}" install -q --only-binary :all: "$numpy" $neighbour || echo "$neighbour is not here"
done
# The daemon is not in the package: as where `module load hotplate` was said.
export PATH=$PATH:$HOTPLATE_BIN_DIR
# Not what the build folder has beside its programs, which conftest.py would take.
PYTHONPATH=$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
export PYTHONPATH
"$work/venv/bin/python" -c '
import hotplate, numpy, sys
print(f"hotplate {hotplate.__version__} in {hotplate.__file__}, NumPy {numpy.__version__}, Python {sys.version}")
assert hotplate.__file__.startswith(sys.prefix)'
# Shapes and strides that no run had before.
export NEW_EXAMPLES=500
"$work/venv/bin/python" -B -m pytest -q -rs -p no:cacheprovider -o faulthandler_timeout=300 \
  --rootdir tests/python tests/python
