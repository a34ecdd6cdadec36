#!/usr/bin/env bash
# Packs the kit that proves the CUDA back-end on a machine with a GPU: the bundle (deploy/bundle.sh) with the kit's programs
# and tests/gpu/run in it, as hotplate-gpu-kit-VERSION-linux-x86_64.tar.gz.
#   usage: tests/gpu/pack.sh [--wheel FILE]... [OUTDIR]        OUTDIR: build/bundle by default
#   --wheel FILE  also packs the Python package of this wheel (deploy/wheel.sh): functions of users' own need it, of the version
#                 of Python that is there. One wheel a version
# Needs a release build with the tests and the kit:
#   cmake --preset release -DHOTPLATE_TESTS=ON && cmake --build --preset release
# HOTPLATE_BUILD names another build folder.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${HOTPLATE_BUILD:-build/release}
out=build/bundle wheels=()
while [ $# -gt 0 ]; do
  case $1 in
    --wheel)
      [ -f "${2:-}" ] || { echo "pack.sh: --wheel: there is no file '${2:-}'" >&2; exit 2; }
      wheels+=("$2")
      shift ;;
    -*) sed -n 3,7p "$0" >&2; echo "pack.sh: unknown argument '$1'" >&2; exit 2 ;;
    *) out=$1 ;;
  esac
  shift
done

kit=$(mktemp -d)
trap 'rm -rf "$kit"' EXIT
mkdir -p "$kit/programs" "$kit/tree"
for program in conformance_test bench_kernels hotplate_case_files hotplate_plugin_kernels; do
  [ -x "$build/bin/$program" ] || {
    echo "pack.sh: there is no $build/bin/$program; cmake --preset release -DHOTPLATE_TESTS=ON && cmake --build --preset release" >&2
    exit 1
  }
  cp "$build/bin/$program" "$kit/programs/"
done
# Only where nvcc was.
for program in bench_bare_cuda bench_bare_matmul; do
  [ ! -x "$build/bin/$program" ] || cp "$build/bin/$program" "$kit/programs/"
done
for plugin in "$build"/bin/faulting/libhotplate_cuda*.so; do
  [ ! -e "$plugin" ] || install -D -m 755 -t "$kit/tree/libexec/hotplate/faulting" "$plugin"
done
# Wheels of one version differ in the compiled module alone, which is named after its Python. The kit has the command already.
for wheel in ${wheels[@]+"${wheels[@]}"}; do
  python3 -m zipfile -e "$wheel" "$kit/tree/python"
done
rm -rf "$kit"/tree/python/hotplate-*.data
install -D -m 755 -t "$kit/tree/tests/gpu" tests/gpu/run
install -D -m 644 -t "$kit/tree/tests/gpu/kit" tests/gpu/kit/*.py
install -D -m 644 -t "$kit/tree/tests/gpu/bench" tests/bench/kernels/pairs.py
install -D -m 644 /usr/share/doc/libgtest-dev/copyright "$kit/tree/share/doc/hotplate/licenses/libgtest-dev.copyright"

deploy/bundle.sh --name hotplate-gpu-kit --add "$kit" "$out"
