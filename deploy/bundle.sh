#!/usr/bin/env bash
# Packs a relocatable tree, hotplate-VERSION-linux-x86_64/, and the same as .tar.gz: copy it anywhere, nothing to install.
# The command is fully static; the daemon brings its libraries and its own loader along, so that it runs on another glibc
# than the one it was built with. CUDA's libraries stay the site's.
#   usage: deploy/bundle.sh [--name NAME] [--add FOLDER] [OUTDIR]        OUTDIR: build/bundle by default
#   --name NAME   the tree is NAME-VERSION-linux-x86_64
#   --add FOLDER  also packs FOLDER/programs/*, each as the daemon is, and FOLDER/tree as it is
# Needs a release build: cmake --preset release -DHOTPLATE_TESTS=OFF && cmake --build --preset release
# HOTPLATE_BUILD names another build folder. Refuses to write more than 63 MiB.
set -euo pipefail
cd "$(dirname "$0")/.."

# shellcheck source=deploy/linked_libraries.sh
. deploy/linked_libraries.sh

build=${HOTPLATE_BUILD:-build/release}
out=build/bundle name=hotplate added=
most=$((63 * 1024 * 1024))
fail() { echo "bundle.sh: $*" >&2; exit 1; }
while [ $# -gt 0 ]; do
  case $1 in
    --name) name=${2:?--name needs a name}; shift ;;
    --add) added=${2:?--add needs a folder}; shift ;;
    -*) sed -n 5,8p "$0" >&2; echo "bundle.sh: unknown argument '$1'" >&2; exit 2 ;;
    *) out=$1 ;;
  esac
  shift
done

[ "$(uname -m)" = x86_64 ] || fail "this machine is $(uname -m); bundles are for x86_64"
for needed in bin/hotplate bin/hotplated bin/hotplate-keeper bin/hotplate-nvrtc share/hotplate/hotplate_worker.py share/hotplate/hotplate_calls.py share/hotplate/catalogue.json share/man/man1/hotplate.1 share/man/man1/hotplated.1; do
  [ -s "$build/$needed" ] || fail "there is no $build/$needed; cmake --preset release && cmake --build --preset release"
done
! readelf -lW "$build/bin/hotplate" | grep -q INTERP ||
  fail "$build/bin/hotplate is not fully static: bundles are made from the release preset"

version=$("$build/bin/hotplate" --version | awk '{ print $NF }')
name=$name-$version-linux-x86_64
mkdir -p "$out"
out=$(cd "$out" && pwd)
tree=$out/$name
rm -rf "$tree" "$out/$name.tar.gz"
libexec=$tree/libexec/hotplate
doc=$tree/share/doc/hotplate
mkdir -p "$tree/bin" "$libexec/programs" "$libexec/bin" "$libexec/lib" "$libexec/glibc" "$doc/licenses" \
  "$tree/share/hotplate" "$tree/share/man/man1" "$tree/share/bash-completion/completions" \
  "$tree/share/zsh/site-functions" "$tree/share/fish/vendor_completions.d"
[ ! -d "$added/tree" ] || cp -a "$added/tree/." "$tree/"

# The programs, each started by the launcher of its name; the plug-ins only where nvcc was.
programs=("$build/bin/hotplated" "$build/bin/hotplate-nvrtc")
[ ! -d "$added/programs" ] || programs+=("$added"/programs/*)
install -m 755 "$build/bin/hotplate" "$tree/bin/hotplate"
install -m 755 deploy/bundle/launch "$tree/bin/hotplated"
plugins=()
for plugin in "$build"/bin/libhotplate_cuda*.so; do
  [ ! -e "$plugin" ] || { install -m 755 "$plugin" "$libexec/"; plugins+=("$(basename "$plugin")"); }
done
# Fully static, as the command is: nothing of the bundle's for it. Beside the loader, which is what hotplated is to /proc.
! readelf -lW "$build/bin/hotplate-keeper" | grep -q INTERP ||
  fail "$build/bin/hotplate-keeper is not fully static: bundles are made from the release preset"
install -m 755 "$build/bin/hotplate-keeper" "$libexec/hotplate-keeper"
loader=$(readlink -f /lib64/ld-linux-x86-64.so.2)
for path in "${programs[@]}"; do
  program=$(basename "$path")
  install -m 755 "$path" "$libexec/programs/$program"
  # The loader under the program's name, which ps and nvidia-smi show, and beside which a daemon looks for plug-ins.
  if [ "$program" = hotplated ]; then
    install -m 755 "$loader" "$libexec/hotplated"
  else
    ln "$libexec/hotplated" "$libexec/$program"
    ln -s ../../../bin/hotplated "$libexec/bin/$program"
  fi
done

# Their libraries. All of glibc that a library of the site's may ask for: half of it from here and half from there
# does not work. libgcc_s and libstdc++ for CUDA's and the driver's libraries.
glibc=(libc.so.6 libm.so.6 libmvec.so.1 libdl.so.2 libpthread.so.0 librt.so.1 libresolv.so.2 libutil.so.1 libanl.so.1)
libraries=()
packed=(--file "libexec/hotplate/hotplated=$loader")
for library in "${glibc[@]}"; do
  path=$(dirname "$loader")/$library
  [ -e "$path" ] || fail "there is no $path"
  install -m 755 "$path" "$libexec/glibc/$library"
  libraries+=("$path")
  packed+=(--file "libexec/hotplate/glibc/$library=$path")
done
while read -r library path; do
  if [ -e "$libexec/glibc/$library" ] || [ -e "$libexec/lib/$library" ]; then continue; fi
  case $library in libcu*) continue ;; esac  # the site's
  install -m 755 "$path" "$libexec/lib/$library"
  libraries+=("$path")
  packed+=(--file "libexec/hotplate/lib/$library=$path")
done < <({ for path in "${programs[@]}"; do ldd "$path"; done
           for library in libstdc++.so.6 libgcc_s.so.1; do echo "$library => $(gcc -print-file-name=$library)"; done; } |
         awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }')
# Removes this machine's folders from the library search path. (The plug-ins have none.)
cat >"$out/rpath.cmake" <<'CMAKE'
file(GLOB programs "${tree}/libexec/hotplate/programs/*")
foreach(program IN LISTS programs)
  file(RPATH_REMOVE FILE "${program}")
endforeach()
CMAKE
cmake -Dtree="$tree" -P "$out/rpath.cmake"
rm "$out/rpath.cmake"
# (Not the libraries of a wheel, in the kit: auditwheel has rewritten them.)
find "$tree" -path "$tree/python" -prune -o -type f \( -path '*/programs/*' -o -name '*.so*' -o -name hotplate -o -name hotplate-keeper \) -exec strip --strip-unneeded {} +

# Data and documents.
install -m 644 "$build"/share/hotplate/catalogue.{json,pb} "$build"/share/hotplate/hotplate_{worker,calls}.py "$tree/share/hotplate/"
install -m 644 "$build"/share/man/man1/hotplate{,d}.1 "$tree/share/man/man1/"
install -D -m 644 -t "$tree/share/hotplate/slurm" deploy/slurm/*.sbatch
install -D -m 644 -t "$tree/share/hotplate/sites" deploy/sites/*.toml
install -D -m 644 -t "$tree/share/hotplate/modulefiles" deploy/modulefiles/hotplate
"$build/bin/hotplate" completion bash >"$tree/share/bash-completion/completions/hotplate"
"$build/bin/hotplate" completion zsh >"$tree/share/zsh/site-functions/_hotplate"
"$build/bin/hotplate" completion fish >"$tree/share/fish/vendor_completions.d/hotplate.fish"
install -m 644 README.md CHANGELOG.md CONTRIBUTING.md CITATION.cff LICENSE "$doc/"
for pages in client/docs deploy/docs client/python/docs client/python/examples; do
  find $pages -type f ! -path '*/__pycache__/*' -exec install -D -m 644 {} "$doc/{}" \;
done

# The licence of every package that something packed comes from, libraries linked in among them.
copyright_of() {
  local package=$1
  [ -s "/usr/share/doc/$package/copyright" ] || fail "there is no /usr/share/doc/$package/copyright"
  cp -L "/usr/share/doc/$package/copyright" "$doc/licenses/$package.copyright"
}
package_of() {
  local path
  path=$(readlink -f "$1")
  { dpkg-query -S "$path" 2>/dev/null || dpkg-query -S "${path#/usr}" 2>/dev/null || dpkg-query -S "/usr$path"; } |
    head -n 1 | cut -d : -f 1
}
archives=$(linked_archives) || fail "pkg-config does not know the libraries that the programs are linked with"
mapfile -t archives <<<"$archives"
for path in "${libraries[@]}" "$loader" "${archives[@]}"; do copyright_of "$(package_of "$path")"; done
for package in "${command_headers[@]}" "${daemon_headers[@]}"; do copyright_of "$package"; done
if [ ${#plugins[@]} -gt 0 ]; then
  cat >"$doc/licenses/nvidia-cuda.txt" <<'TEXT'
The plug-ins libhotplate_cuda*.so, and what else nvcc built here, contain NVIDIA's CUDA runtime library (cudart, static),
which the End User License Agreement of the CUDA Toolkit, attachment A, allows to be redistributed with an application:
https://docs.nvidia.com/cuda/eula/. No other library of NVIDIA's is packed, nor needed to open the plug-ins: those that
kernels call (cuBLASLt, cuFFT, cuSOLVER) come from the site's own CUDA. Of its headers, CUB is compiled in: cub.txt.
TEXT
  install -m 644 deploy/bundle/cub.txt "$doc/licenses/cub.txt"
  install -m 644 /usr/share/common-licenses/Apache-2.0 "$doc/licenses/Apache-2.0.txt"
fi

# Which libraries these are, of which package: an advisory names packages. The files are as packed, stripped.
revision=$(git describe --always --dirty 2>/dev/null || echo unknown)
linked=()
for path in "${archives[@]}"; do linked+=(--linked "$path"); done
for package in "${command_headers[@]}" "${daemon_headers[@]}"; do linked+=(--package "$package"); done
if [ ${#plugins[@]} -gt 0 ]; then
  toolkits=$("$build/bin/hotplated" --version -v | sed -nE 's/^  CUDA +plug-ins built with //p')
  for toolkit in ${toolkits//,/ }; do linked+=(--other "cudart@$toolkit@NVIDIA CUDA Toolkit EULA"); done
fi
SOURCE_DATE_EPOCH=$(source_date) deploy/sbom.py --name hotplate \
  --version "$version" --revision "$revision" --tree "$tree" "${packed[@]}" "${linked[@]}" -o "$doc/sbom.cdx.json"

# The manifest: version, revision, and checksums of the files as packed.
date=$(date -u +%Y-%m-%dT%H:%M:%SZ)
printf '%s\n' "$version" >"$tree/VERSION"
(cd "$tree" && find . -type f ! -name MANIFEST.json -printf '%P\0' | LC_ALL=C sort -z | xargs -0 sha256sum) |
  python3 -c '
import json, sys
version, revision, date, compiler, glibc, plugins = sys.argv[1:7]
files = {path: digest for digest, path in (line.rstrip("\n").split("  ", 1) for line in sys.stdin)}
print(json.dumps({"name": "hotplate", "version": version, "git_revision": revision, "date": date, "compiler": compiler,
                  "glibc": glibc, "plugins": plugins.split(), "sha256": files}, indent=1))
' "$version" "$revision" "$date" "$(c++ --version | head -n 1)" "$("$loader" --version | head -n 1)" "${plugins[*]:-}" \
  >"$tree/MANIFEST.json"

tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner -cf - "$name" | gzip -9 >"$out/$name.tar.gz"
size=$(stat -c %s "$out/$name.tar.gz")
[ "$size" -le "$most" ] || fail "$out/$name.tar.gz has $size bytes, more than $most"
printf '%s  %d.%d MiB, %s\n' "$out/$name.tar.gz" $((size >> 20)) $(((size & 1048575) * 10 >> 20)) "$revision"
