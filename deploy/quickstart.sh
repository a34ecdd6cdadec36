#!/usr/bin/env bash
# From a fresh clone to real jobs: installs missing packages, builds, starts a local daemon, runs matmul, selu and
# mandelbrot on arrays made with NumPy, checks the results by its own calculation, and stops the daemon.
#   usage: deploy/quickstart.sh [--built FOLDER]
#   --built FOLDER  installs and builds nothing: the programs are in FOLDER
# Leaves the inputs, the results and the picture in build/quickstart. Needs Debian 12 or 13, as root or with sudo.
set -euo pipefail

root=$(realpath "$(dirname "$0")/..")
programs=$root/build/quick/bin built=no
if [ $# -eq 2 ] && [ "$1" = --built ]; then
  programs=$(realpath "$2") built=yes
  [ -x "$programs/hotplate" ] || { echo "quickstart: there is no program hotplate in $programs" >&2; exit 2; }
elif [ $# -gt 0 ]; then
  sed -n 2,6p "$0" >&2
  echo "quickstart: unknown arguments '$*'" >&2
  exit 2
fi
cd "$root"

step() { printf '\n== %s\n' "$*"; }
show() { printf '$ hotplate %s\n' "$*"; hotplate "$@"; }

if [ $built = no ]; then
  step "Packages"
  deploy/install-deps.sh

  step "Build (the daemon and the command, for CPUs; only the kernels are optimised)"
  cmake --preset quick
  cmake --build --preset quick --target hotplate hotplated
fi
PATH=$programs:$PATH

# A folder of its own for the daemon's record and log: a daemon that you already run is not touched.
HOTPLATE_DIR=$(mktemp -d)
export HOTPLATE_DIR
unset HOTPLATE_SERVER
daemon=""
finish() {
  status=$?
  trap - EXIT
  if [ -n "$daemon" ] && kill -0 "$daemon" 2>/dev/null; then
    kill -TERM "$daemon"
    for _ in $(seq 250); do
      kill -0 "$daemon" 2>/dev/null || break
      sleep 0.1
    done
    kill -KILL "$daemon" 2>/dev/null || true
  fi
  if [ $status -ne 0 ]; then
    echo "quickstart: failed with exit status $status" >&2
    for log in "$HOTPLATE_DIR"/logs/*.log; do
      [ -f "$log" ] && { echo "quickstart: the end of $log:" >&2; tail -n 20 "$log" >&2; }
    done
  fi
  rm -rf "$HOTPLATE_DIR"
  exit $status
}
trap finish EXIT
trap 'exit 130' INT TERM

step "Start a daemon on this machine"
show up --local
daemon=$(hotplate status --json | jq -er .pid)

step "What it can run"
show kernels

step "Inputs: real .npy files, made with NumPy"
out=build/quickstart
rm -rf "$out"
mkdir -p "$out"
/usr/bin/python3 deploy/quickstart_arrays.py make "$out"

step "Run three kernels"
show run matmul "$out/a.npy" "$out/b.npy" -o "$out/c.npy"
show run selu "$out/x.npy" -o "$out/y.npy"
show run mandelbrot --resolution 1000 --max-iterations 500 -o "$out/mandelbrot.png"

step "Check the results by a calculation of our own, in float64"
/usr/bin/python3 deploy/quickstart_arrays.py check "$out"

step "A receipt, as a script sees it"
hotplate run selu "$out/x.npy" -o "$out/y.npy" --json | jq -e '.receipt | select(.kernel == "selu")'

step "Stop the daemon"
show down
for _ in $(seq 250); do
  kill -0 "$daemon" 2>/dev/null || break
  sleep 0.1
done
if kill -0 "$daemon" 2>/dev/null; then
  echo "quickstart: the daemon (pid $daemon) is still there 25 s after 'hotplate down'" >&2
  exit 1
fi
if compgen -G "$HOTPLATE_DIR/servers/*.json" >/dev/null; then
  echo "quickstart: the daemon left its endpoint record in $HOTPLATE_DIR/servers" >&2
  exit 1
fi
daemon=""

printf '\nAll of it worked. The picture: %s\nThe programs: %s\n' "$PWD/$out/mandelbrot.png" "$programs"
printf "In this shell: export PATH=%q:\$PATH\n" "$programs"
