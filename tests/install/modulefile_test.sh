#!/usr/bin/env bash
# usage: modulefile_test.sh MODULEFILE VERSION
# Reads the template module file as Lmod and Environment Modules do, and looks at what it asks them for.
set -euo pipefail
file=$1 version=$2
command -v tclsh >/dev/null || { echo "Skipped: there is no tclsh"; exit 77; }

# The commands that a module file may use, each of which only tells what it was given: any other is an error.
load() {
  tclsh /dev/stdin "$1" <<'TCL'
foreach command {module-whatis conflict prepend-path setenv depends-on} {
  proc $command args "puts \"$command \[join \$args\]\""
}
source [lindex $argv 0]
ModulesHelp
TCL
}
fail() { printf 'modulefile_test: %s:\n%s\n' "$1" "$said" >&2; exit 1; }
has() { grep -qxF -e "$1" <<<"$said" || fail "there is no line \"$1\""; }

[ "$(head -c 8 "$file")" = '#%Module' ] || { echo "modulefile_test: $file does not begin with #%Module" >&2; exit 1; }
said=$(load "$file" 2>&1) || fail "it cannot be read"
root=/software/hotplate/hotplate-$version-linux-x86_64
has "conflict hotplate"
has "prepend-path PATH $root/bin"
has "prepend-path MANPATH $root/share/man"
grep -q "^module-whatis Hotplate $version: " <<<"$said" || fail "whatis does not begin with the version"
grep -q "hotplate up " <<<"$said" || fail "its help does not say how to begin"
! grep -q ^setenv <<<"$said" || fail "it sets something before it is adapted"

# Adapted: a site's own folder, and its profile.
adapted=$(mktemp)
trap 'rm -f "$adapted"' EXIT
sed -e 's|^set root .*|set root "/opt/hot plate"|' -e 's|^set site .*|set site "hpc2n"|' "$file" >"$adapted"
said=$(load "$adapted" 2>&1) || fail "it cannot be read once it is adapted"
has "prepend-path PATH /opt/hot plate/bin"
has "setenv HOTPLATE_SITE hpc2n"
