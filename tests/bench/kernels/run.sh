#!/usr/bin/env bash
# The CPU kernels beside NumPy and a plain triad; needs the release build and python3-numpy. About three minutes.
#   usage: tests/bench/kernels/run.sh [--rows ROWS.json] [--pairs N] [--only TEXT] [--check]
set -euo pipefail
cd "$(dirname "$0")/../../.."
program=build/release/bin/bench_kernels
if [ ! -x "$program" ]; then
  echo "run.sh: no $program; build it: cmake --preset release && cmake --build --preset release --target bench_kernels" >&2
  exit 1
fi
exec /usr/bin/python3 tests/bench/kernels/compare.py "$program" "$@"
