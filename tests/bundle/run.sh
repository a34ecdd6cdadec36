#!/usr/bin/env bash
# Packs the users' bundle and the GPU kit, which is the same with the kit's programs, and uses them as somebody who has
# nothing else: unpacked in another folder of this machine, and with --roots in fresh Debian 11 (glibc 2.31) and Debian 13
# (2.41) roots. There: the version, a daemon up, a product that is verified, the daemon down, the conformance suite on the
# CPU, and a driver's library of the machine opened by the daemon. On this machine also the kit's end-to-end section, on the CPU.
#   usage: tests/bundle/run.sh [--roots] [BUILD_FOLDER]
# --roots needs root that may mount, debootstrap and a network; without them it says so and exits with 77 (skipped).
set -euo pipefail
cd "$(dirname "$0")/../.."
roots=no
[ "${1:-}" != --roots ] || { roots=yes; shift; }
build=${1:-build/release}

work=$(mktemp -d)
mounted=()
finish() {
  status=$?
  trap - EXIT
  for folder in "${mounted[@]}"; do umount -l -R "$folder" 2>/dev/null || true; done
  rm -rf --one-file-system "$work"
  exit $status
}
trap finish EXIT
trap 'exit 130' INT TERM
step() { printf '\n== %s\n' "$*"; }
skip() { echo "bundle_test: SKIPPED: $*" >&2; exit 77; }

if [ $roots = yes ]; then
  [ "$(id -u)" = 0 ] || skip "chroot needs root"
  command -v debootstrap >/dev/null || skip "no debootstrap (deploy/install-deps.sh --long installs it)"
  # Root of a container often may not.
  mkdir "$work/tried"
  mount --bind "$work/tried" "$work/tried" 2>/dev/null || skip "root may not mount anything here"
  umount "$work/tried"
fi

step "Pack"
# From any tree: changes need not be committed here.
deploy/release.sh --snapshot --built "$build" "$work/packed"
(cd "$work/packed" && sha256sum -c SHA256SUMS)
for packed in "$work"/packed/*; do
  name=${packed##*/}
  [ "$name" = SHA256SUMS ] || grep -qF "  $name" "$work/packed/SHA256SUMS" ||
    { echo "bundle_test: SHA256SUMS does not name $name" >&2; exit 1; }
done
grep -qxF -- "$(awk '/^## Unreleased/ { inside = 1; next } inside && /^- / { print; exit }' CHANGELOG.md)" "$work/packed/NOTES.md" ||
  { echo "bundle_test: NOTES.md does not begin as the CHANGELOG's Unreleased" >&2; exit 1; }
tar -xzOf "$work"/packed/hotplate-*-linux-x86_64.tar.gz --wildcards '*/share/doc/hotplate/sbom.cdx.json' |
  cmp - "$work"/packed/hotplate-*-linux-x86_64.cdx.json
for plugin in "$build"/bin/libhotplate_cuda*.so; do
  [ ! -e "$plugin" ] || grep -q "^CUDA plug-ins in the bundle:.* $(basename "$plugin")" "$work/packed/NOTES.md" ||
    { echo "bundle_test: NOTES.md does not name $(basename "$plugin")" >&2; exit 1; }
done
mkdir "$work/elsewhere"
# The Python package of this build, as a wheel would have it.
mkdir -p "$work/wheel/hotplate/xp"
cp -L "$build"/python/hotplate/*.py "$build"/python/hotplate/_core*.so "$work/wheel/hotplate/"
cp -L "$build"/python/hotplate/xp/*.py "$work/wheel/hotplate/xp/"
(cd "$work/wheel" && python3 -m zipfile -c ../hotplate.whl hotplate)
HOTPLATE_BUILD=$build tests/gpu/pack.sh --wheel "$work/hotplate.whl" "$work/kit-packed"
for packed in "$work"/packed/*-linux-x86_64.tar.gz "$work"/kit-packed/*.tar.gz; do tar -C "$work/elsewhere" -xzf "$packed"; done
users=$(echo "$work"/elsewhere/hotplate-[0-9]*)
tree=$(echo "$work"/elsewhere/hotplate-gpu-kit-*)
rm -rf "$work/packed" "$work/kit-packed" "$work/wheel" "$work/hotplate.whl"

step "What is in them"
[ ! -e "$users/tests" ] || { echo "bundle_test: there are tests in the users' bundle" >&2; exit 1; }
# So that what is found out below about the kit is true of the bundle. (The list of libraries may have more in the kit.)
python3 -c '
import json, sys
users, kit = (json.load(open(f"{folder}/MANIFEST.json"))["sha256"] for folder in sys.argv[1:])
other = sorted(path for path, digest in users.items() if kit.get(path) != digest and not path.endswith("/sbom.cdx.json"))
assert users and not other, f"in the users'"'"' bundle, but not the same in the kit: {other}"
print(len(users), "files of the users'"'"' bundle,", len(kit), "with the kit")
' "$users" "$tree"
for folder in "$users" "$tree"; do (cd "$folder" && python3 -c '
import hashlib, json, os
manifest = json.load(open("MANIFEST.json"))
found = {os.path.relpath(os.path.join(folder, name), ".") for folder, _, names in os.walk(".") for name in names
         if not os.path.islink(os.path.join(folder, name))} - {"MANIFEST.json"}
listed = set(manifest["sha256"])
assert found == listed, f"not as the manifest says: {sorted(found ^ listed)}"
for path, digest in manifest["sha256"].items():
    assert hashlib.sha256(open(path, "rb").read()).hexdigest() == digest, f"{path} is not what the manifest says"
assert manifest["version"] == open("VERSION").read().strip()
print(len(listed), "files as the manifest says, revision", manifest["git_revision"])
'); done
# Every library that is packed is in the list, as packed, and so is every CUDA that a plug-in was built with.
for folder in "$users" "$tree"; do (cd "$folder" && python3 -c '
import hashlib, json, pathlib
bill = json.load(open("share/doc/hotplate/sbom.cdx.json"))
libexec = pathlib.Path("libexec/hotplate")
packed = {str(path) for part in ("lib", "glibc") for path in (libexec / part).iterdir()} | {str(libexec / "hotplated")}
listed = {file["name"]: file["hashes"][0]["content"] for library in bill["components"] for file in library.get("components", [])
          if file["properties"][0]["value"] == "packed"}
assert set(listed) == packed, f"not as the list of libraries says: {sorted(set(listed) ^ packed)}"
for path, digest in listed.items():
    assert hashlib.sha256(open(path, "rb").read()).hexdigest() == digest, f"{path} is not what the list of libraries says"
names = {library["name"]: library["version"] for library in bill["components"]}
assert {"libgrpc-dev", "libprotobuf-dev", "libssl-dev", "libsqlite3-dev", "libspdlog-dev"} <= set(names), names
toolkits = {library["version"].split(".")[0] for library in bill["components"] if library["name"] == "cudart"}
plugins = {path.stem.removeprefix("libhotplate_cuda") for path in libexec.glob("libhotplate_cuda*.so")}
assert toolkits == plugins, (toolkits, plugins)
print(len(names), "packages in the list of libraries")
'); done
status=0
tests/bundle/sbom_schema_test.sh "$users/share/doc/hotplate/sbom.cdx.json" || status=$?
[ $status = 0 ] || [ $status = 77 ] || exit $status
tests/pages/check_links.py "$tree/share/doc/hotplate"
for file in "$tree"/libexec/hotplate/programs/* "$tree"/libexec/hotplate/*.so; do
  if readelf -d "$file" | grep -E 'R(UN)?PATH'; then
    echo "bundle_test: $file says where libraries are, which is the launcher's business" >&2
    exit 1
  fi
done
for plugin in "$tree"/libexec/hotplate/*.so "$tree"/libexec/hotplate/faulting/*.so; do
  [ -e "$plugin" ] || continue  # no nvcc
  if readelf -d "$plugin" | grep -E 'NEEDED.*\[lib(cu|nv)'; then
    echo "bundle_test: $plugin cannot be opened where the library above is not installed" >&2
    exit 1
  fi
done
# What is compiled into a plug-in from headers (kernels/sort) asks for its notice in whatever is handed on.
for plugin in "$tree"/libexec/hotplate/*.so; do
  grep -qa N3cub "$plugin" || continue
  for words in cub.txt:'Redistributions in binary form' cub.txt:'Duane Merrill' Apache-2.0.txt:'Apache License'; do
    grep -q "${words#*:}" "$tree/share/doc/hotplate/licenses/${words%%:*}" && continue
    echo "bundle_test: $plugin contains CUB, and ${words%%:*} does not say \"${words#*:}\"" >&2
    exit 1
  done
done
# Nothing may remember where it was built: this folder is not there on another machine.
if grep -rlF "$PWD/build" "$users/bin" "$tree/bin" "$tree/tests" "$tree/share/hotplate" "$tree/MANIFEST.json"; then
  echo "bundle_test: the files above mention the folder they were built in" >&2
  exit 1
fi

# Runs inside the root, or right here: everything through the bundle's own files.
cat >"$work/use.sh" <<'USE'
set -eu
tree=$1 depth=$2
export HOTPLATE_DIR=$(mktemp -d) LC_ALL=C
unset HOTPLATE_SERVER HOTPLATE_BIN_DIR LD_LIBRARY_PATH
PATH=$tree/bin:$PATH
"$tree/bin/hotplate" --version
"$tree/bin/hotplated" --version
ln -s "$tree/bin/hotplated" "$HOTPLATE_DIR/link" && "$HOTPLATE_DIR/link" --version >/dev/null
files=$HOTPLATE_DIR/files
mkdir "$files"
"$tree/libexec/hotplate/bin/hotplate_case_files" write matmul float32_large_nn "$files" >/dev/null
hotplate up --local -- --device "$3"
hotplate run matmul "$files/a.npy" "$files/b.npy" -o "$files/c.npy"
"$tree/libexec/hotplate/bin/hotplate_case_files" verify matmul float32_large_nn "$files"
hotplate devices --json >"$files/devices.json"
# A script finds a warm Python, where there is a Python.
if python=$(command -v /usr/bin/python3); then
  tries=0
  until HOTPLATE_PYTHON=$python hotplate python -c 'print("said")' >"$files/said" && grep -qx said "$files/said" &&
      hotplate jobs --json | grep -q '"warm":true'; do
    tries=$((tries + 1))
    [ $tries -lt 200 ] || { hotplate workers; hotplate jobs --json; echo "no script was warm" >&2; exit 1; }
  done
fi
hotplate down
if [ "$depth" = whole ]; then
  "$tree/libexec/hotplate/bin/conformance_test" --gtest_brief=1 --gtest_filter='*_cpu*'
fi
# A library of this machine's, opened from inside: with each way by which a driver can be found. It needs the threads'
# and the loader's libraries of old, as NVIDIA's does.
if [ -n "$4" ]; then
  LD_LIBRARY_PATH=$4 LD_PRELOAD=/nonexistent.so hotplate up --local
  hotplate devices --json >"$files/devices.json"
  hotplate down
  grep -q 'cannot be opened: libcuda.so.1: cannot open' "$files/devices.json" &&
    { cat "$files/devices.json"; echo "the driver in LD_LIBRARY_PATH was not found" >&2; exit 1; }
  echo "with a driver's library: $(sed 's/.*"notes":/"notes":/' "$files/devices.json")"
fi
rm -rf "$HOTPLATE_DIR"
USE
driver=$work/driver
mkdir "$driver"
printf 'int cuInit(unsigned flags) { (void)flags; return 100; }\n' >"$work/driver.c"
cc -shared -fPIC -Wl,--no-as-needed -Wl,-soname,libcuda.so.1 -o "$driver/libcuda.so.1" "$work/driver.c" \
  -l:libpthread.so.0 -l:libdl.so.2 -l:librt.so.1 -lm

step "From another folder of this machine"
sh "$work/use.sh" "$tree" brief auto "$driver"

step "The GPU kit, on the CPU"
env -u HOTPLATE_BIN_DIR -u HOTPLATE_DIR -u HOTPLATE_SERVER -u PYTHONPATH "$tree/tests/gpu/run" --device cpu --quick --only end_to_end \
  --only workers --python /usr/bin/python3 --out "$work/kit"
python3 -c '
import json, sys
found = json.load(open(sys.argv[1]))
sections = {one["name"]: {check["name"]: check["status"] for check in one["checks"]} for one in found["sections"]}
statuses, users = sections["end_to_end"], sections["workers"]
assert found["bundle"] and "vector_add from files" in statuses and set(statuses.values()) == {"pass"}, statuses
own = ("a NumPy function on a held array", "a script", "two workers on one device", "a worker killed in a kernel", "the device goes on")
assert all(users[name] == "pass" for name in own), users
' "$work/kit/gpu-kit.json"
[ $roots = yes ] || { echo "bundle_test: ok"; exit 0; }

for suite in bullseye trixie; do
  step "In a fresh Debian root: $suite"
  root=$work/$suite
  debootstrap --variant=minbase "$suite" "$root" >"$work/$suite.log" 2>&1 || {
    tail -n 5 "$work/$suite.log" >&2
    skip "debootstrap $suite failed: is there a network?"
  }
  for folder in proc dev; do
    mount --rbind "/$folder" "$root/$folder"
    mount --make-rslave "$root/$folder"
    mounted+=("$root/$folder")
  done
  cp -a "$users" "$tree" "$driver" "$work/use.sh" "$root/opt/"
  chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/bin:/bin sh -c \
    'ldd --version | head -n 1
     exec sh /opt/use.sh /opt/hotplate-gpu-kit-* whole cpu /opt/driver'
  # By the users' bundle. Found through the root's own cache too, without any output in the environment.
  # shellcheck disable=SC2016  # expanded inside the root
  chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/bin:/bin sh -c \
    'echo /opt/driver >/etc/ld.so.conf.d/driver.conf && /sbin/ldconfig && cd /opt/hotplate-[0-9]* && export HOTPLATE_DIR=$(mktemp -d) &&
     bin/hotplate up --local && bin/hotplate devices && bin/hotplate down' |
    tee "$work/cache.txt"
  if grep -q 'libcuda.so.1: cannot open' "$work/cache.txt"; then
    echo "bundle_test: the driver in $suite's ld.so.cache was not found" >&2
    exit 1
  fi
  for folder in proc dev; do umount -l -R "$root/$folder"; done
  mounted=()
done
echo "bundle_test: ok in Debian 11 and 13 roots"
