#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests: those whose home is the release build, then those whose home is
# AddressSanitizer and UndefinedBehaviorSanitizer (tests/CMakeLists.txt says which). Ends with one line "N passed, N failed,
# N skipped", counted over all runs.
#   usage: tests/run.sh [--long] [--skip-install] [--only PRESET]
#   --long         also the tests whose home is `long`, all tests under AddressSanitizer and under ThreadSanitizer, arrays of
#                  more than 2^31 elements (10 GB of memory), the fuzzers, the lint, the bundle in Debian 11 and 13 roots, and
#                  the Python package as pip installs it
#   --only PRESET  that build's tests and no other (release, asan, tsan)
set -euo pipefail
cd "$(dirname "$0")/.."

long=no install=yes presets=(release asan)
while [ $# -gt 0 ]; do
  case $1 in
    --long) long=yes ;;
    --skip-install) install=no ;;
    --only) presets=("${2:?--only needs a preset}"); shift ;;
    *) sed -n 2,10p "$0" >&2; echo "tests/run.sh: unknown argument '$1'" >&2; exit 2 ;;
  esac
  shift
done
[ $long = yes ] && [ "${presets[*]}" = "release asan" ] && presets+=(tsan)

started=$SECONDS
step() { printf '\n== %s (after %d:%02d)\n' "$*" $(((SECONDS - started) / 60)) $(((SECONDS - started) % 60)); }

if [ $install = yes ]; then
  step "Packages"
  if [ $long = yes ]; then deploy/install-deps.sh --slurm --long; else deploy/install-deps.sh --slurm; fi
fi

# Results of an earlier run must not be counted as this one's.
results=$PWD/build/test-results
rm -rf "$results"
mkdir -p "$results"
broken=0
jobs=$(nproc)

# Tests remove their folders; what one that was killed left behind goes with the run.
TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/hotplate-tests-XXXXXX")
export TMPDIR
beside=
trap 'finish_beside; rm -rf "$TMPDIR"' EXIT

# run_ctest PRESET NAME OPTION...: what it finds is counted as NAME.
run_ctest() {
  local preset=$1 name=$2
  shift 2
  ctest --preset "$preset" --test-output-size-passed 1000000 --test-output-size-failed 1000000 \
    --output-junit "$results/$name.xml" "$@"
}

# The release build's tests, which wait more than they compute, go on while the next build has the processors. Not with
# --long, whose tests of the GPU kit and of the benchmarks have bounded times.
begin_beside() {
  run_ctest "$@" >"$TMPDIR/beside.log" 2>&1 &
  beside=$!
}
finish_beside() {
  [ -n "$beside" ] || return 0
  step "Test release, beside the other build"
  wait "$beside" || broken=1
  beside=
  cat "$TMPDIR/beside.log"
}

for preset in "${presets[@]}"; do
  # What is built, and the tests of which homes are run. Device code for one of the architectures, unless all is asked for.
  options=() target=all homes=. leave_out='^not_instrumented$'
  case $preset,$long in
    release,no) options=(-DHOTPLATE_CUDA_ARCHITECTURES=90) target=release_tests homes='^release$' leave_out='^$' ;;
    release,yes) homes='^(release|long)$' leave_out='^$' ;;
    asan,no) target=asan_tests homes='^asan$' ;;
  esac
  step "Build $preset"
  cmake --preset "$preset" -DHOTPLATE_TESTS=ON -DHOTPLATE_PYTHON_PACKAGE=ON "${options[@]}"
  cmake --build --preset "$preset" --target "$target"
  # One more than there are processors: many of them wait now and then.
  tests=("$preset" "$preset" --parallel $((jobs + 1)) -L "$homes" -LE "$leave_out")
  if [ "${presets[*]},$preset,$long" = "release asan,release,no" ]; then
    begin_beside "${tests[@]}"
  else
    step "Test $preset"
    run_ctest "${tests[@]}" || broken=1
  fi
done
finish_beside

# part NAME COMMAND...: counted as one case; exit status 77 is a skip, of which COMMAND has said why.
part() {
  local name=$1 status=0 as
  shift
  step "$name"
  "$@" || status=$?
  case $status in
    0) as=run ;;
    77) as=notrun ;;
    *) as=fail broken=1 ;;
  esac
  printf '<testsuite><testcase name="%s" status="%s"/></testsuite>\n' "$name" "$as" >"$results/$name.xml"
}

if [ $long = yes ]; then
  part lint tests/lint.sh
  part fuzz tests/fuzz/run.sh
  # What these pack and call is the release build.
  if [[ " ${presets[*]} " == *" release "* ]]; then
    step "Test release on large arrays"
    run_ctest release large -C large -L large || broken=1
    part bundle_in_roots tests/bundle/run.sh --roots
    part python_installed tests/python/installed.sh
  fi
fi

step "Result"
tests/count_results.py "$results"/*.xml || broken=1
exit $broken
