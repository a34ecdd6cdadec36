#!/usr/bin/env bash
# usage: batch_scripts_test.sh FOLDER
# Runs the batch scripts in FOLDER without a Slurm, and looks at the words that the daemon gets.
set -euo pipefail
scripts=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '#!/bin/sh\nprintf "[%%s]" "$@"\n' >"$folder/hotplated"
# Its own options are none of the daemon's.
# shellcheck disable=SC2016  # for the script that is written
printf '#!/bin/sh\nwhile [ "$1" != "$HOTPLATED" ]; do shift; done\nexec "$@"\n' >"$folder/srun"
chmod 700 "$folder"/*

# words EXPECTED [VARIABLE=VALUE] [WORD ...]
words() {
  local expected=$1 variables=(SLURM_JOB_ID=7 SLURM_JOB_NUM_NODES=1)
  shift
  if [[ ${1:-} == *=* && ${1:-} != -* ]]; then variables+=("$1") && shift; fi
  for script in hotplated hotplated-multinode; do
    local said
    said=$(env -u HOTPLATE_DEVICE "PATH=$folder:$PATH" "HOTPLATED=$folder/hotplated" "${variables[@]}" bash "$scripts/$script.sbatch" "$@")
    [ "$said" = "$expected" ] && continue
    echo "batch_scripts_test: $script.sbatch gave the daemon $said, not $expected (${variables[*]} $*)" >&2
    exit 1
  done
}

words "[--require-cuda][]" ""
words "[--require-cuda][--lanes][2][a b]" --lanes 2 "a b"
words "[--device][cpu]" --device cpu
words "[--lanes][2][--device=auto]" --lanes 2 --device=auto
words "[--lanes][2]" HOTPLATE_DEVICE=cpu --lanes 2
words "[--require-cuda][--lanes][2]" HOTPLATE_DEVICE= --lanes 2
