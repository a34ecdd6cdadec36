#!/usr/bin/env bash
# Measures Hotplate beside bare peers in the same run, prints one table, and writes it as JSON.
#   usage: tests/bench/run.sh [--save] [--no-kernels]
#   --save        also keep the JSON in tests/bench/results
#   --no-kernels  only what concerns the wire and the processes
# Uses the release build, which must be there (cmake --preset release && cmake --build --preset release). Everything listens
# on loopback, what is without TLS on unix sockets. Takes about five minutes; let nothing else run meanwhile.
set -euo pipefail
cd "$(dirname "$0")/../.."

command_line="tests/bench/run.sh $*"
save=no kernels=yes
for argument in "$@"; do
  case $argument in
    --save) save=yes ;;
    --no-kernels) kernels=no ;;
    *) sed -n 2,8p "$0" >&2; echo "run.sh: unknown argument '$argument'" >&2; exit 2 ;;
  esac
done

bin=$PWD/build/release/bin
for program in hotplate hotplated bench_peer_server bench_peer_client bench_rpc bench_process; do
  [ -x "$bin/$program" ] || {
    echo "run.sh: no $bin/$program; build it: cmake --preset release -DHOTPLATE_TESTS=ON && cmake --build --preset release" >&2
    exit 1
  }
done

read -r load _ </proc/loadavg
if [ "${load%.*}" -ge 1 ]; then
  echo "run.sh: the load is $load: what is measured now says little about a quiet machine" >&2
fi

work=$(mktemp -d)
export HOTPLATE_DIR=$work/daemons
unset HOTPLATE_SERVER
pids=()
finish() {
  status=$?
  trap - EXIT
  for pid in "${pids[@]}"; do kill -TERM "$pid" 2>/dev/null || true; done
  for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
  if [ $status -ne 0 ]; then tail -n 5 "$work"/*.log >&2 2>/dev/null || true; fi
  rm -rf "$work"
  exit $status
}
trap finish EXIT
trap 'exit 130' INT TERM

wait_for() {  # FILE: at most 20 s
  for _ in $(seq 400); do
    [ -e "$1" ] && return 0
    sleep 0.05
  done
  echo "run.sh: $1 did not appear" >&2
  return 1
}

"$bin/bench_peer_server" "$work/peer" &
pids+=($!)
for name in tls plain; do
  extra=()
  [ $name = plain ] && extra=(--insecure --unix-socket "$work/plain.socket")
  "$bin/hotplated" --name $name --device cpu --log-file "$work/$name.log" "${extra[@]}" &
  pids+=($!)
done
wait_for "$work/peer"
wait_for "$HOTPLATE_DIR/servers/tls.json"
wait_for "$HOTPLATE_DIR/servers/plain.json"
/usr/bin/python3 -c 'import sys, numpy; numpy.save(sys.argv[1], numpy.arange(4, dtype=numpy.float32))' "$work/tiny.npy"

rows=("$work/process.json" "$work/rpc.json")
echo "Processes"
HOTPLATE_SERVER=tls "$bin/bench_process" "$bin" "$work" "$work/peer" "$work/process.json"
echo "Calls"
"$bin/bench_rpc" "$work/peer" tls plain "$work/rpc.json"
if [ $kernels = yes ] && [ -x tests/bench/kernels/run.sh ]; then
  echo "Kernels"
  tests/bench/kernels/run.sh --rows "$work/kernels.json"
  rows+=("$work/kernels.json")
fi

mkdir -p build/bench
report=build/bench/$(date -u +%Y%m%dT%H%M%SZ).json
echo
tests/bench/report.py --out "$report" --command "$command_line" "${rows[@]}"
if [ $save = yes ]; then
  mkdir -p tests/bench/results
  cp "$report" tests/bench/results/
  echo "kept as tests/bench/results/$(basename "$report")"
fi
