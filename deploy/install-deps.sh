#!/usr/bin/env bash
# Installs the Debian packages that Hotplate is built, tested and measured with (Debian 12 or 13). Asks apt only for
# what is missing, so a second run costs nothing and needs neither root nor network.
#   usage: deploy/install-deps.sh [--slurm] [--long]
#   --slurm  also what the tests on a real Slurm need, whose services are not started, and the other shells that complete
#   --long   also what the long tests and the lint need: clang, clang-tidy, clang-format, shellcheck, debootstrap
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache pkg-config git ca-certificates                    # the tools; git only names a version
  libgrpc++-dev protobuf-compiler-grpc libprotobuf-dev protobuf-compiler         # the wire
  libabsl-dev libssl-dev zlib1g-dev libzstd-dev                                  # named by CMake beside gRPC's own use
  libspdlog-dev libfmt-dev libcli11-dev libtomlplusplus-dev libpng-dev           # log, command line, config, pictures
  libopenblas-openmp-dev libhwy-dev gemmi-dev      # on a CPU: matmul, sort, and fft, whose pocketfft comes with gemmi
  libgtest-dev libgmock-dev librandom123-dev                                      # tests; the last is `random`'s reference
  libboost-context-dev                                                           # the stacks of emulated CUDA threads
  python3 python3-numpy python3-scipy jq                                         # the independent side of the tests
  python3-tqdm python3-grpcio python3-protobuf mypy                              # beside the Python package in its tests
  pybind11-dev python3-dev python3-venv python3-pytest python3-hypothesis dpkg-dev  # the Python package and its tests
)
start_services=yes
for argument in "$@"; do
  case $argument in
    --slurm)
      # The -core packages are MariaDB without a service of the machine's.
      packages+=(slurmctld slurmd slurm-client slurmdbd munge mariadb-server-core mariadb-client-core iproute2 util-linux
        btrfs-progs python3-fusepy tcl  # a folder with a quota, one that is slow, and what reads module files
        zsh fish)                       # for every run of the tests, which ask them what they complete
      start_services=no ;;
    --long)
      # What clang's fuzzers and sanitizers are linked with is only recommended by clang.
      packages+=(clang libclang-rt-dev clang-tidy clang-format libomp-dev shellcheck debootstrap) ;;
    *) echo "install-deps.sh: unknown argument '$argument' (there are --slurm and --long)" >&2; exit 2 ;;
  esac
done

missing=()
for package in "${packages[@]}"; do
  # shellcheck disable=SC2016  # dpkg's own format, not the shell's
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "install-deps: all ${#packages[@]} packages are there"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || {
    echo "install-deps: these packages are missing and need root: ${missing[*]}" >&2
    echo "install-deps: run it as root, install sudo, or ask for: apt-get install ${missing[*]}" >&2
    exit 1
  }
  as_root=(sudo)
fi
command -v apt-get >/dev/null || {
  echo "install-deps: no apt-get here; this script knows Debian 12 and 13. Needed: ${missing[*]}" >&2
  exit 1
}
# Debian's packages start their services. Of munged and Slurm the tests start their own.
policy=/usr/sbin/policy-rc.d
if [ $start_services = no ] && [ ! -e $policy ]; then
  trap '"${as_root[@]}" rm -f $policy' EXIT
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee $policy >/dev/null
  "${as_root[@]}" chmod 755 $policy
fi
echo "install-deps: installing ${missing[*]}"
"${as_root[@]}" apt-get update -q
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q -o Dpkg::Use-Pty=0 --no-install-recommends \
  "${missing[@]}"
