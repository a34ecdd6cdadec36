#!/usr/bin/env bash
# Makes a release in one folder: the bundle and the list of its libraries, the source, Python wheels, notes from the CHANGELOG,
# and checksums of all of it.
#   usage: deploy/release.sh [--snapshot] [--python PROGRAM]... [--built FOLDER] [OUTDIR]
#   OUTDIR            build/release-VERSION by default
#   --snapshot        of work in progress: takes changes that are not committed, and the CHANGELOG's "Unreleased"
#   --python PROGRAM  an interpreter to make a wheel for; repeatable (/usr/bin/python3)
#   --built FOLDER    builds nothing, and so makes no wheel: packs the release build that is in FOLDER
# The bundle holds the CUDA plug-ins whose compilers are here: nvcc of CUDA 13 in PATH, and nvcc of CUDA 12 in
# HOTPLATE_CUDA12_COMPILER or /usr/local/cuda-12*/bin. deploy/docs/release.md says how to publish the folder.
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { echo "release.sh: $*" >&2; exit 1; }

snapshot=no built='' out='' pythons=()
while [ $# -gt 0 ]; do
  case $1 in
    --snapshot) snapshot=yes ;;
    --python) command -v "${2:-}" >/dev/null || fail "--python: there is no program '${2:-}'"
      pythons+=("$2"); shift ;;
    --built) [ -x "${2:-}/bin/hotplate" ] || fail "--built: there is no program bin/hotplate in '${2:-}'"
      built=$(realpath "$2"); shift ;;
    -*) sed -n 2,10p "$0" >&2; echo "release.sh: unknown argument '$1'" >&2; exit 2 ;;
    *) [ -z "$out" ] || { echo "release.sh: one OUTDIR, not '$out' and '$1'" >&2; exit 2; }
      out=$1 ;;
  esac
  shift
done

version=$(sed -nE 's/^project\(Hotplate VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
section=$version
if [ $snapshot = yes ]; then
  section=Unreleased
elif ! changed=$(git status --porcelain 2>&1) || [ -n "$changed" ]; then
  fail "a release is made of a commit, and this tree is not one: $(head -n 1 <<<"$changed") (--snapshot takes it as it is)"
fi

# notes SECTION: that section of the CHANGELOG, without its heading.
notes() {
  awk -v section="$1" '/^## / { inside = $2 == section || $2 == "[" section "]"; next } inside' CHANGELOG.md
}
grep -q '[^[:space:]]' <<<"$(notes "$section")" ||
  fail "CHANGELOG.md has nothing under '## $section'$([ $snapshot = yes ] || echo "; --snapshot takes 'Unreleased'")"

wheels=no
if [ -z "$built" ]; then
  wheels=yes
  cuda12=${HOTPLATE_CUDA12_COMPILER:-$(compgen -G '/usr/local/cuda-12*/bin/nvcc' | sort -V | tail -n 1 || true)}
  cmake --preset release -DHOTPLATE_TESTS=OFF -DHOTPLATE_CUDA12_COMPILER="$cuda12"
  cmake --build --preset release
  built=$PWD/build/release
fi

# Made beside its place and moved there as a whole, so that nobody publishes half a release.
out=$(realpath -m "${out:-build/release-$version}")
[ ! -e "$out" ] || fail "$out is there already: name another folder, or remove it"
mkdir -p "$(dirname "$out")"
making=$(mktemp -d "$out.XXXXXX")
trap 'rm -rf "$making"' EXIT
chmod 755 "$making"

HOTPLATE_BUILD=$built deploy/bundle.sh "$making"
cp "$making/hotplate-$version-linux-x86_64/share/doc/hotplate/sbom.cdx.json" "$making/hotplate-$version-linux-x86_64.cdx.json"
rm -rf "$making/hotplate-$version-linux-x86_64"  # the bundle is beside it as .tar.gz
[ $wheels = no ] || deploy/wheel.sh "$making" "${pythons[@]}"
[ $snapshot = yes ] ||
  git archive --format=tar.gz -9 --prefix="hotplate-$version/" -o "$making/hotplate-$version.tar.gz" HEAD
plugins=$(tar -tzf "$making/hotplate-$version-linux-x86_64.tar.gz" |
  sed -nE 's|^[^/]*/libexec/hotplate/(libhotplate_cuda[0-9]+\.so)$|\1|p' | paste -sd ' ')
{
  printf '# Hotplate %s\n\n' "$([ $snapshot = yes ] && git describe --always --dirty || echo "$version")"
  printf 'CUDA plug-ins in the bundle: %s.\n\n' "${plugins:-none (no nvcc where it was made)}"
  # shellcheck disable=SC2016  # Markdown's quotes
  (cd "$making" && for wheel in *.whl; do [ ! -e "$wheel" ] || printf 'Python: `pip install %s`\n\n' "$wheel"; done)
  notes "$section" | sed '/./,$!d'
} >"$making/NOTES.md"
(cd "$making" && sha256sum -- * >"$making.sums" && mv "$making.sums" SHA256SUMS)
mv -T "$making" "$out"
trap - EXIT
ls -l "$out"
