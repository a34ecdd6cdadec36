#!/bin/bash
# Builds the fuzz targets with Clang and runs each from a fixed seed, for a bounded number of inputs and seconds.
#   tests/fuzz/run.sh [RUNS] [SECONDS]      default: 300000 runs, 60 seconds at most
# What made it fail is left in build/fuzz as crash-*; the exit code is then not 0.
set -euo pipefail
runs=${1:-300000}
seconds=${2:-60}
source_folder=$(cd "$(dirname "$0")/libfuzzer" && pwd)
root=$(cd "$source_folder/../../.." && pwd)
build=$root/build/fuzz

clang=$(command -v clang++) || { echo "fuzzing needs clang++: apt-get install clang" >&2; exit 2; }
cmake -S "$source_folder" -B "$build" -G Ninja -DCMAKE_CXX_COMPILER="$clang" >/dev/null
cmake --build "$build" >/dev/null

seeds=$build/seeds
corpus=$build/corpus
rm -rf "$seeds" "$corpus"
mkdir -p "$seeds" "$corpus"
# One good file of each version and order to start from: 24 bytes of data behind a header of 128.
for version in 1 2; do
  for order in True False; do
    dict="{'descr': '<i2', 'fortran_order': $order, 'shape': (3, 4), }"
    {
      if [ "$version" = 1 ]; then
        printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "$dict"
      else
        printf '\x93NUMPY\x02\x00\x74\x00\x00\x00%-115s\n' "$dict"
      fi
      printf 'abcdefghijklmnopqrstuvwx'
    } >"$seeds/v$version-$order.npy"
  done
done

cd "$build"
./npy_fuzz -seed=20240607 -runs="$runs" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
  -dict="$source_folder/npy.dict" -print_final_stats=1 "$corpus" "$seeds"
