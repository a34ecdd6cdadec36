#!/usr/bin/env bash
# Formatting, shell scripts, and clang-tidy on all C++ sources. Changes nothing.
#   usage: tests/lint.sh [--quick]
#   --quick  without clang-tidy, which configures build/dev, generates its headers there, and takes minutes
set -euo pipefail
cd "$(dirname "$0")/.."

quick=no
case ${1:-} in
  "") ;;
  --quick) quick=yes ;;
  *) echo "lint.sh: unknown argument '$1' (there is --quick)" >&2; exit 2 ;;
esac
for tool in clang-format shellcheck clang-tidy; do
  command -v $tool >/dev/null || { echo "lint.sh: no $tool; deploy/install-deps.sh --long installs it" >&2; exit 1; }
done

failed=0
mapfile -t sources < <(git ls-files '*.cpp' '*.h')
mapfile -t scripts < <(git ls-files '*.sh' .ci/run)
echo "clang-format: ${#sources[@]} files"
clang-format --dry-run --Werror "${sources[@]}" || failed=1
echo "shellcheck: ${#scripts[@]} files"
shellcheck "${scripts[@]}" || failed=1

if [ $quick = no ]; then
  # The only preset whose commands name each source separately.
  build=build/dev
  cmake --preset dev -DHOTPLATE_TESTS=ON >/dev/null
  cmake --build --preset dev --target hotplate_proto bench_peer hotplate_spec_hashes_target >/dev/null
  # Only files compiled on this machine: sources of a missing back-end have no command. No device code: nvcc has options
  # that clang-tidy does not know, and its emulation needs _Float16, which clang 14 lacks here.
  mapfile -t compiled < <(jq -r '.[].file' $build/compile_commands.json | grep -v -e "^$PWD/build/" -e "\.cu$" -e "/tests/unit/cuda/emulation/" | sort -u)
  echo "clang-tidy: ${#compiled[@]} files of $build"
  printf '%s\0' "${compiled[@]}" | xargs -0 -P "$(nproc)" -n 4 clang-tidy -p $build --quiet \
    --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-unused-command-line-argument 2>/dev/null || failed=1
fi
exit $failed
