#!/usr/bin/env bash
# Installs the Python package as a user does, `pip install ./client/python` into a fresh environment, and runs its tests
# on what pip installed, beside NumPy, SciPy, gRPC and Arrow as PyPI has them, against a daemon of BUILD_FOLDER. Among
# these tests: what the module links, what it exports, and which glibc it needs.
#   usage: tests/python/installed.sh [BUILD_FOLDER]      (default: build/release, for its hotplated)
# Where PyPI or apt's sources cannot be reached, it says so and exits with 77 (skipped). Minutes, less with ccache.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$(realpath "${1:-build/release}")
export HOTPLATE_BIN_DIR=$build/bin

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
step() { printf '\n== %s\n' "$*"; }
skip() { echo "installed.sh: SKIPPED: $*" >&2; exit 77; }

[ -x "$HOTPLATE_BIN_DIR/hotplated" ] || { echo "installed.sh: no hotplated in $build: build first" >&2; exit 1; }
python=/usr/bin/python3
$python -c 'import ensurepip' 2>/dev/null || skip "$python has no venv (deploy/install-deps.sh --long installs it)"
$python -m venv "$work/venv"
pip=("$work/venv/bin/pip" --disable-pip-version-check)
"${pip[@]}" download -q --no-deps -d "$work/probe" 'scikit-build-core>=0.10' >"$work/log" 2>&1 ||
  skip "pip cannot get what builds the package: $(grep -m1 '^ERROR' "$work/log" || tail -n 1 "$work/log")"

step "pip install ./client/python"
# Built anew, but where it always is, so that ccache knows the files.
rm -rf build/pip
if ! "${pip[@]}" install --config-settings=build-dir="$PWD/build/pip" ./client/python >"$work/log" 2>&1; then
  cat "$work/log"
  # Some of gRPC's objects are compiled again from Debian's sources. CMake breaks its lines anywhere.
  ! tr -s ' \n' ' ' <"$work/log" | grep -qE 'apt has no (lists of )?sources' ||
    skip "no sources of what is compiled again: see above"
  exit 1
fi
tail -n 1 "$work/log"
"$work/venv/bin/hotplate" --version

step "Its tests"
# What it is beside in one process. What PyPI has not for this Python, the tests skip and name.
"${pip[@]}" install -q pytest hypothesis mypy
"${pip[@]}" install -q --only-binary :all: scipy tqdm grpcio protobuf pyarrow || echo "not all neighbours are here"
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
