# shellcheck shell=bash
# Sourced by what packs programs: which of Debian's packages are linked into them or compiled in from headers, so that
# their licences and the list of libraries (sbom.py) are complete.

# linked_archives: the static libraries of the command and the daemon, a path a line. That of the C library is the
# command's alone, which is fully static.
linked_archives() {
  local library archive names
  names=$(pkg-config --static --libs-only-l grpc++ protobuf re2) || return
  for library in $names -lSQLiteCpp -lsqlite3 -lpng16 -lz -lstdc++ -lgcc -lgcc_eh -lc; do
    archive=$(gcc -print-file-name="lib${library#-l}.a")
    [ ! -e "$archive" ] || realpath "$archive"  # pthread and others are parts of the C library
  done | sort -u
}

# source_date: seconds since 1970 of what is packed: as the caller says, or the commit's; nothing outside a checkout.
source_date() { echo "${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || true)}"; }

# Packages of which headers alone are compiled in.
# shellcheck disable=SC2034  # read by those who source this
command_headers=(libcli11-dev libtomlplusplus-dev nlohmann-json3-dev)
# shellcheck disable=SC2034
daemon_headers=(libcli11-dev libtomlplusplus-dev libspdlog-dev libfmt-dev libhwy-dev gemmi-dev)
