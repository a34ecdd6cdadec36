#!/usr/bin/env bash
# Installs Debian packages (Debian 12 or 13), only those that are missing: a second run needs neither root nor network.
#   usage: deploy/install-deps.sh [--tests] [--slurm] [--long]
#   (none)   to build the programs, and to run the quickstart
#   --tests  to build and run the tests, with the Python package
#   --slurm  for the tests on a real Slurm (its services are not started) and of other shells; includes --tests
#   --long   for the long tests and the lint: Clang, clang-tidy, clang-format, shellcheck, debootstrap; includes --tests
set -euo pipefail

packages=(
  g++ cmake ninja-build pkg-config                                               # the tools
  libgrpc++-dev protobuf-compiler-grpc libprotobuf-dev protobuf-compiler         # the wire
  libabsl-dev libssl-dev zlib1g-dev libzstd-dev                                  # named by CMake beside gRPC's own use
  libspdlog-dev libfmt-dev libcli11-dev libtomlplusplus-dev libpng-dev           # log, command line, config, pictures
  nlohmann-json3-dev                                                             # jobs as JSON lines
  libsqlite3-dev libsqlitecpp-dev                                                # the journal
  libopenblas-openmp-dev libhwy-dev gemmi-dev      # on a CPU: matmul, sort, and fft, whose pocketfft comes with gemmi
  python3 python3-numpy jq                                                       # the quickstart's check of the results
)
tests=(
  ccache git ca-certificates                                                     # git only names a version
  libgtest-dev libgmock-dev librandom123-dev                                      # the last is `random`'s reference
  libboost-context-dev                                                           # the stacks of emulated CUDA threads
  python3-scipy                                                                  # the independent side of the tests
  python3-tqdm python3-grpcio python3-protobuf mypy                              # beside the Python package in its tests
  pybind11-dev python3-dev python3-venv python3-pytest python3-hypothesis python3-cloudpickle python3-joblib  # the Python package and its tests
)
with_tests=no start_services=yes
for argument in "$@"; do
  case $argument in
    --tests) with_tests=yes ;;
    --slurm)
      # The -core packages are MariaDB without a system service.
      packages+=(slurmctld slurmd slurm-client slurmdbd munge mariadb-server-core mariadb-client-core iproute2 util-linux
        btrfs-progs python3-fusepy tcl  # a folder with a quota, a slow one, and a reader of module files
        zsh fish)  # every test run asks these shells for completions
      with_tests=yes start_services=no ;;
    --long)
      # clang only recommends the libraries that its fuzzers and sanitizers link.
      packages+=(clang libclang-rt-dev clang-tidy clang-format libomp-dev shellcheck debootstrap)
      with_tests=yes ;;
    *) echo "install-deps.sh: unknown argument '$argument'; there are --tests, --slurm and --long" >&2; exit 2 ;;
  esac
done
[ $with_tests = no ] || packages+=("${tests[@]}")

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
