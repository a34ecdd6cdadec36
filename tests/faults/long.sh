#!/usr/bin/env bash
# The long form of the fault tests, after a release build with tests; some two hours on two cores. Prints what each found; the
# exit status is 1 if one of them found something.
#   usage: tests/faults/long.sh [CYCLES]     of daemons killed under load; default 1000
set -uo pipefail
cd "$(dirname "$0")/../.." || exit

cycles=${1:-1000} failed=0
cmake --build --preset release --target journal_test hotplate hotplated hotplate_python || exit 1
export HOTPLATE_BIN_DIR=$PWD/build/release/bin PYTHONPATH=$PWD/build/release/python
python=/usr/bin/python3

part() {
  printf '\n== %s\n' "$*"
  "$@" || failed=1
}

# Power cut, or the process killed, before each operation on the disk and at each step of a group; then at random.
part env HOTPLATE_CRASH_STRIDE=1 HOTPLATE_CRASH_CYCLES=1000 "$HOTPLATE_BIN_DIR/journal_test" \
  --gtest_brief=1 --gtest_filter='*CrashTest*:*EachOperation*:*FailingDisk*:*EachFailure*'
part $python -B tests/faults/kill_cycles.py --cycles "$cycles"
part $python -B tests/faults/client_kill_test.py --long
part $python -B tests/faults/malloc_test.py --long
part $python -B tests/faults/small_disk_test.py
part $python -B tests/faults/floods_test.py --long
exit $failed
