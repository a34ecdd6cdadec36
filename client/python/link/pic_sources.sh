#!/usr/bin/env bash
# Prints the source files, one a line, that must be compiled again as position-independent code before these archives can
# be linked into a shared object; nothing where all can be. Of Debian's archives nearly all can, but some hold objects
# that were compiled for programs: their thread-locals and their `stderr` are at places that only a program knows.
#   usage: pic_sources.sh CACHE_FOLDER COMPILER NAME...     (NAME as in -lNAME)
# Each object's source file comes from the source package, in the very version, of the installed package that holds the
# archive: its own distribution's, checked by apt's signatures, with apt's lists kept in the cache folder, so neither root
# nor a deb-src line is needed. Exits with 1 and a sentence where that cannot be.
set -euo pipefail
cache=$1 compiler=$2
shift 2

fail() { echo "$*" >&2; exit 1; }

# "ARCHIVE OBJECT" of what a shared object cannot hold: thread-locals of a program (TPOFF32), addresses of 32 bits, and
# data of the C library at a fixed distance.
unfit=$(
  for name in "$@"; do
    archive=$("$compiler" -print-file-name="lib$name.a")
    [ -e "$archive" ] || fail "there is no lib$name.a"
    LC_ALL=C readelf -rW "$archive" 2>/dev/null | awk -v archive="$(realpath "$archive")" '
      /^File: / { object = $2; sub(/^.*\(/, "", object); sub(/\)$/, "", object) }
      / R_X86_64_(TPOFF32|32S?) / || / R_X86_64_PC32 .* (stdin|stdout|stderr|_*environ|optarg|optind|in6addr_any) / {
        if (!(object in seen)) print archive, object; seen[object] = 1 }'
  done | sort -u
)
[ -n "$unfit" ] || exit 0
for tool in apt-get dpkg-query dpkg-source; do
  command -v $tool >/dev/null || fail "no $tool here, to get the sources of $(wc -l <<<"$unfit") objects that are not position-independent"
done

# source_tree PACKAGE: the folder with the sources that it was built from.
source_tree() {
  local source version tree
  source=$(dpkg-query -W -f '${source:Package}' "$1")
  version=$(dpkg-query -W -f '${source:Version}' "$1")
  tree=$cache/${source}_${version//[^A-Za-z0-9.+~-]/_}
  if [ ! -e "$tree/.complete" ]; then
    prepare_apt
    rm -rf "$tree" "$cache/download"
    mkdir -p "$tree" "$cache/download"
    (cd "$cache/download" && apt source --download-only "$source=$version" && dpkg-source -x ./*.dsc "$tree/unpacked") \
      >"$cache/log" 2>&1 || fail "apt has no sources of $source $version: $(grep -m1 '^E:\|error' "$cache/log" || true)"
    rm -rf "$cache/download"
    # Only what a compiler reads, and not as it was before the distribution's patches.
    rm -rf "$tree/unpacked/.pc"
    find "$tree" -type f ! -name '*.c' ! -name '*.cc' ! -name '*.cpp' ! -name '*.h' ! -name '*.inc' ! -name '*.def' -delete
    find "$tree" -type d -empty -delete
    touch "$tree/.complete"
  fi
  echo "$tree/unpacked"
}

apt() {
  apt-get -q -o Dir::Etc::sourcelist="$cache/sources.list" -o Dir::Etc::sourceparts=/dev/null -o Acquire::Languages=none \
    -o Dir::State::lists="$cache/lists" -o Dir::Cache="$cache/apt" -o APT::Sandbox::User= -o Acquire::Retries=2 \
    -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 "$@"
}

# Lists of the sources beside the binary packages that this system installs from.
prepared=no
prepare_apt() {
  [ $prepared = no ] || return 0
  mkdir -p "$cache/lists/partial" "$cache/apt/archives/partial"
  local keyring=/usr/share/keyrings/debian-archive-keyring.gpg options="" release
  [ ! -e $keyring ] || options="[signed-by=$keyring] "
  # shellcheck disable=SC1091  # the system's
  release=$(. /etc/os-release && echo "${VERSION_CODENAME:-stable}")
  # shellcheck disable=SC2016  # apt's own format, not the shell's
  apt-get indextargets --no-release-info --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    sort -u | grep -E " (stable|$release)[^ ]* " | sed "s|^|deb-src $options|" >"$cache/sources.list" || true
  [ -s "$cache/sources.list" ] || fail "apt names no place that this system's packages come from"
  apt -o APT::Update::Error-Mode=any update >"$cache/log" 2>&1 ||
    fail "apt has no lists of sources: $(grep -m1 '^[EW]:\|^Err:' "$cache/log" || true)"
  prepared=yes
}

mkdir -p "$cache"
exec 9>"$cache/lock"
flock 9  # two builds at a time share the cache
while read -r archive object; do
  package=$(dpkg-query -S "$archive" 2>/dev/null | head -n1 | sed 's/: .*//') ||
    fail "$archive, which is no package's, holds $object, which is not position-independent"
  # Not in a substitution, where `fail` would end nothing and `prepared` be lost.
  source_tree "$package" >"$cache/tree"
  tree=$(cat "$cache/tree")
  stem=${object%.o}
  stem=${stem%.c*}  # CMake calls the object of a.cc a.cc.o
  for ending in cc cpp c; do
    found=$(find "$tree" -name "$stem.$ending")
    [ -z "$found" ] || break
  done
  # Two of a name: the archive is called by the path (libabsl_log_internal_globals.a: absl/log/internal/globals.cc), or has
  # the folder in its name (libabsl_str_format_internal.a: absl/strings/internal/str_format/parser.cc).
  if [ "$(wc -l <<<"$found")" -gt 1 ]; then
    name=$(basename "$archive" .a)
    by_path=$(while read -r file; do
      path=${file%.*}
      [[ ${path//\//_} != *"_${name#lib}" ]] || echo "$file"
    done <<<"$found")
    by_folder=$(while read -r file; do
      folder=$(basename "$(dirname "$file")")
      [[ $name != *"$folder"* ]] || echo "$file"
    done <<<"$found")
    found=${by_path:-$by_folder}
  fi
  if [ -z "$found" ] || [ "$(wc -l <<<"$found")" -gt 1 ]; then
    fail "the sources of $package have no one file that $object of $archive can come from: ${found:-none}"
  fi
  echo "$found"
done <<<"$unfit"
rm -rf "$cache/lists" "$cache/apt" "$cache/tree"
