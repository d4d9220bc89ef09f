#!/usr/bin/env bash
# Several processes on one machine, each with its own part of the work.
#
#   scripts/cluster/dataset_local.sh generate OUT.sqlite WORKERS GENERATE-OPTION…
#   scripts/cluster/dataset_local.sh measure DATA.sqlite DEVICE… -- MEASURE-OPTION…
#
# `generate` traces WORKERS shards into files of their own and merges them; one
# `dataset generate` with --jobs does the same on one machine, this is for many.
# `measure` starts one process per device, each with its own labels file, and
# merges the labels into DATA.sqlite at the end:
#   scripts/cluster/dataset_local.sh measure d.sqlite cuda:0 cuda:1 -- \
#     --device-name a100-sxm4-40gb --minutes 30
# Both may be interrupted and started again: what is done is not done twice.
set -euo pipefail

foretell=${FORETELL:-$(dirname "${BASH_SOURCE[0]}")/../foretell}

usage() {
  sed -n '4,5s/^# *//p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

# Waits for all processes; fails when one failed in another way than by models
# that have errors (status 3), which are recorded.
wait_all() {
  local failed=0 status
  for process in "$@"; do
    status=0
    wait "$process" || status=$?
    if ((status != 0 && status != 3)); then failed=1; fi
  done
  return $failed
}

(($# >= 3)) || usage
command=$1 data=$2
shift 2
processes=() parts=()
case $command in
  generate)
    workers=$1
    shift
    for ((i = 1; i <= workers; ++i)); do
      parts+=("$data.part-$i-of-$workers")
      "$foretell" dataset generate --shard "$i/$workers" --jobs 1 \
        --out "${parts[-1]}" "$@" &
      processes+=($!)
    done
    ;;
  measure)
    devices=()
    while (($#)) && [[ $1 != -- ]]; do
      devices+=("$1")
      shift
    done
    if (($#)); then shift; fi
    for ((i = 1; i <= ${#devices[@]}; ++i)); do
      parts+=("$data.labels-$i-of-${#devices[@]}")
      "$foretell" dataset measure "$data" --device "${devices[i - 1]}" \
        --shard "$i/${#devices[@]}" --out "${parts[-1]}" "$@" &
      processes+=($!)
    done
    ;;
  *) usage ;;
esac
# A stop of this script stops its workers.
trap 'kill "${processes[@]}" 2>/dev/null || true' INT TERM
wait_all "${processes[@]}"
"$foretell" dataset merge "${parts[@]}" --out "$data"
