#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests: the release build, then the same under AddressSanitizer and
# UndefinedBehaviorSanitizer. Ends with one line "N passed, N failed, N skipped", counted over all runs.
#   usage: tests/run.sh [--long] [--skip-install] [--only PRESET]
#   --long         also ThreadSanitizer, arrays of more than 2^31 elements (10 GB of memory), the fuzzers, the lint, the
#                  bundle in Debian 11 and 13 roots, and the Python package as pip installs it
#   --only PRESET  that build's tests and no other (release, asan, tsan)
set -euo pipefail
cd "$(dirname "$0")/.."

long=no install=yes presets=(release asan)
while [ $# -gt 0 ]; do
  case $1 in
    --long) long=yes ;;
    --skip-install) install=no ;;
    --only) presets=("${2:?--only needs a preset}"); shift ;;
    *) sed -n 2,7p "$0" >&2; echo "tests/run.sh: unknown argument '$1'" >&2; exit 2 ;;
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
on_slurm=
trap 'finish_on_slurm; rm -rf "$TMPDIR"' EXIT

# run_ctest PRESET NAME OPTION...: what it finds is counted as NAME.
run_ctest() {
  local preset=$1 name=$2
  shift 2
  ctest --preset "$preset" --test-output-size-passed 1000000 --test-output-size-failed 1000000 \
    --output-junit "$results/$name.xml" "$@"
}

# The tests on a real Slurm mostly wait: they go on while the next build has the processors.
begin_on_slurm() {
  run_ctest release slurm -L slurm --parallel 3 >"$TMPDIR/slurm.log" 2>&1 &
  on_slurm=$!
}
finish_on_slurm() {
  [ -n "$on_slurm" ] || return 0
  step "Test release on a real Slurm, beside that build"
  wait "$on_slurm" || broken=1
  on_slurm=
  cat "$TMPDIR/slurm.log"
}

for preset in "${presets[@]}"; do
  step "Build $preset"
  cmake --preset "$preset" -DHOTPLATE_TESTS=ON -DHOTPLATE_PYTHON_PACKAGE=ON
  cmake --build --preset "$preset"
  finish_on_slurm
  step "Test $preset"
  leave_out=()
  # Benchmarks measure only what is not instrumented.
  [ "$preset" = release ] || leave_out=(-LE release_only)
  later=no
  if [ "$preset" = release ] && [ ${#presets[@]} -gt 1 ]; then later=yes leave_out=(-LE slurm); fi
  # One more than there are processors: many of them wait now and then.
  run_ctest "$preset" "$preset" --parallel $((jobs + 1)) "${leave_out[@]}" || broken=1
  [ $later = no ] || begin_on_slurm
done

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
