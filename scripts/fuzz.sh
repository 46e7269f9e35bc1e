#!/usr/bin/env bash
# Fuzzes the parsers: scripts/fuzz.sh [seconds=3600 | --total seconds] [target...]
# Each target (tests/fuzz/<target>_fuzz.cpp; default: all) runs for this number of seconds, in
# parallel on all CPUs; with --total, the seconds are divided among the targets. Inputs that reach
# new code are kept in build-fuzz/corpus/<target>/. An input that fails is written to
# build-fuzz/crashes/ and reported with the command that reproduces it; a copy of it in
# tests/fuzz/corpus/<target>/ becomes a test. Exit code 1 if any input failed.
set -euo pipefail
total=0
if [[ ${1:-} == --total ]]; then
  total=1
  shift
fi
seconds=${1:-3600}
if [[ ! $seconds =~ ^[1-9][0-9]*$ ]]; then
  echo "usage: scripts/fuzz.sh [seconds | --total seconds] [target...]" >&2
  exit 2
fi
targets=("${@:2}")

# The sources need clang 16: parenthesised initialisation of aggregates.
find_clang() {
  local candidate major
  for candidate in clang++ clang++-{20,19,18,17,16}; do
    major=$("$candidate" -dumpversion 2>/dev/null) || continue
    if ((${major%%.*} >= 16)); then
      command -v "$candidate"
      return
    fi
  done
  return 1
}

test_packages=()
clang=$(find_clang) || {
  test_packages=(clang-16 libclang-rt-16-dev)  # Debian 12's
  clang=clang++-16
}
preset=fuzz
launchers=()
if command -v ccache >/dev/null; then
  launchers=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
fi
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh" -DCMAKE_CXX_COMPILER="$clang" \
  ${launchers[@]+"${launchers[@]}"} >/dev/null
cmake --build --preset fuzz

build=build-fuzz
if ((${#targets[@]} == 0)); then
  for source in tests/fuzz/*_fuzz.cpp; do
    targets+=("$(basename "$source" _fuzz.cpp)")
  done
fi
if ((total)); then
  seconds=$(((seconds + ${#targets[@]} - 1) / ${#targets[@]}))
fi
for target in "${targets[@]}"; do
  if [[ ! -x $build/tests/fuzz/${target}_fuzz ]]; then
    echo "There is no fuzz target $target: see tests/fuzz/" >&2
    exit 2
  fi
done

memory=/dev/shm
[[ -w $memory ]] || memory=${TMPDIR:-/tmp}
scratch=$(mktemp -d "$memory/hgemm_fuzz.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$build/crashes"

# More than 5 s for one input, or 1 GB, is a failure, like a crash. libFuzzer's alarm may interrupt
# an allocation, and its report then waits forever to allocate; hence the limit from outside.
fuzz() {
  local target=$1 seeds=tests/fuzz/corpus/$1 found=$build/corpus/$1 outcome=0 dictionary=()
  [[ ! -e tests/fuzz/$target.dict ]] || dictionary=("-dict=tests/fuzz/$target.dict")
  mkdir -p "$found"
  TMPDIR=$scratch timeout --kill-after=10 $((seconds + 120)) "$build/tests/fuzz/${target}_fuzz" ${dictionary[@]+"${dictionary[@]}"} \
    -max_total_time="$seconds" -timeout=5 -rss_limit_mb=1024 -malloc_limit_mb=1024 -max_len=4096 \
    -artifact_prefix="$build/crashes/$target-" -print_final_stats=1 \
    "$found" "$seeds" >"$scratch/$target.log" 2>&1 || outcome=$?
  local runs
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$scratch/$target.log")
  if ((outcome == 0)); then
    echo "fuzz $target: $runs inputs in $seconds s, none broke it"
    return
  fi
  cp "$scratch/$target.log" "$build/crashes/$target.log"
  local input
  input=$(sed -n 's/.*Test unit written to //p' "$scratch/$target.log" | tail -n 1)
  echo "fuzz $target: FAILED (log: $build/crashes/$target.log); to reproduce:"
  echo "  $build/tests/fuzz/${target}_fuzz -timeout=5 -rss_limit_mb=1024 -malloc_limit_mb=1024 ${input:-?}"
  return 1
}

running=0
failed=0
for target in "${targets[@]}"; do
  if ((running == $(nproc))); then
    wait -n || failed=1
    running=$((running - 1))
  fi
  fuzz "$target" &
  running=$((running + 1))
done
while ((running > 0)); do
  wait -n || failed=1
  running=$((running - 1))
done
exit "$failed"
