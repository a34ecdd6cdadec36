#!/usr/bin/env bash
# usage: run.sh CMAKE BUILD_FOLDER CXX [SANITIZER]
# Installs what the folder holds, looks for what a user must find there, and builds a client that knows nothing but
# find_package(Hotplate): without a daemon it must say how to start one, with the installed daemon it must get its sum.
set -euo pipefail
cmake=$1 build=$2 cxx=$3 sanitizer=${4:-}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
daemon=
finish() {
  status=$?
  trap - EXIT
  if [ -n "$daemon" ]; then kill -KILL "$daemon" 2>/dev/null || true; wait "$daemon" 2>/dev/null || true; fi
  [ $status -eq 0 ] || cat "$work"/*.log >&2 || true
  rm -rf "$work"
  exit $status
}
trap finish EXIT

"$cmake" --install "$build" --prefix "$work/prefix" >"$work/install.log"
# Moved: nothing may remember where it was installed to.
mv "$work/prefix" "$work/moved"
prefix=$work/moved

for file in bin/hotplate bin/hotplated bin/hotplate-keeper share/hotplate/hotplate_worker.py share/hotplate/hotplate_calls.py include/hotplate/hotplate/client.h include/hotplate/hotplate/v1/jobs.pb.h \
    include/hotplate/kernels/array/npy.h share/hotplate/catalogue.pb share/hotplate/slurm/hotplated.sbatch share/hotplate/sites/hpc2n.toml \
    share/hotplate/proto/hotplate/v1/jobs.proto \
    share/man/man1/hotplate.1 share/man/man1/hotplated.1 share/doc/hotplate/deploy/docs/sites.md share/bash-completion/completions/hotplate share/zsh/site-functions/_hotplate \
    share/fish/vendor_completions.d/hotplate.fish; do
  [ -s "$prefix/$file" ] || { echo "install_test: $file was not installed" >&2; exit 1; }
done
"$here/../pages/check_links.py" "$prefix/share/doc/hotplate"
for plugin in "$build"/bin/libhotplate_cuda*.so; do
  [ ! -e "$plugin" ] || [ -s "$prefix/bin/$(basename "$plugin")" ] ||
    { echo "install_test: $(basename "$plugin") was not installed beside hotplated" >&2; exit 1; }
done
if grep -rlF -e "$build" -e "$root" --include='*.cmake' "$prefix/lib"; then
  echo "install_test: the package above mentions the folder it was built in" >&2
  exit 1
fi
offered=$(bash -c "source '$prefix/share/bash-completion/completions/hotplate'
  COMP_WORDS=(hotplate run mandelb); COMP_CWORD=2; _hotplate; echo \"\${COMPREPLY[*]}\"")
[ "$offered" = mandelbrot ] ||
  { echo "install_test: bash's completion offers \"$offered\" for: hotplate run mandelb" >&2; exit 1; }
"$prefix/bin/hotplate" --version
"$prefix/bin/hotplated" --version

flags=
[ -z "$sanitizer" ] || flags=-fsanitize=$sanitizer
linked=""
if [[ $sanitizer == *thread* ]]; then
  # Our own programs have it compiled in.
  linked=$work/tsan_grpc.o
  "$cxx" -c "$here/../tsan_grpc.cpp" -o "$linked"
fi
"$cmake" -G Ninja -S "$here/client" -B "$work/client" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_EXE_LINKER_FLAGS="$linked" >"$work/configure.log" 2>&1
"$cmake" --build "$work/client" >"$work/build.log" 2>&1

export HOTPLATE_DIR=$work/daemons
unset HOTPLATE_SERVER
if "$work/client/tiny" >"$work/nobody.log"; then
  echo "install_test: the client found a daemon where none is" >&2
  exit 1
fi
grep -q 'hotplate up --local' "$work/nobody.log" ||
  { echo "install_test: without a daemon the client does not say how to start one" >&2; exit 1; }

mkdir -m 700 "$HOTPLATE_DIR"
"$prefix/bin/hotplated" --device cpu --log-file "$work/daemon.log" &
daemon=$!
for _ in $(seq 1200); do
  [ ! -e "$HOTPLATE_DIR/servers/local.json" ] || break
  kill -0 "$daemon" || { echo "install_test: the installed daemon ended by itself" >&2; exit 1; }
  sleep 0.05
done
"$work/client/tiny"
# The installed daemon finds what it keeps Pythons warm with.
for _ in $(seq 200); do
  HOTPLATE_PYTHON=/usr/bin/python3 "$prefix/bin/hotplate" python -c pass
  "$prefix/bin/hotplate" jobs --json >"$work/jobs.log"
  ! grep -q '"warm": *true' "$work/jobs.log" || break
done
grep -q '"warm": *true' "$work/jobs.log" || { echo "install_test: no script was warm" >&2; exit 1; }
kill -TERM "$daemon"
wait "$daemon"
daemon=
echo "install_test: ok"
