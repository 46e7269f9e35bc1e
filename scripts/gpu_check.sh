#!/usr/bin/env bash
# What only a Hopper GPU can show, from a finished build folder: builds nothing, needs no network and
# no build tools. Writes <output>/gpu-check.json ($1; default results/<GPU>) and fails if a check did.
#   cmake --build build && scripts/gpu_check.sh
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/gpu_output.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

sanitizer=$(command -v compute-sanitizer || echo "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer")

# ---- The checks: each is a command; what it prints is shown if it fails ----

# gtest alone would call a run with skipped tests, or with none at all, a success.
run_gtest() {
  local log=$scratch/gtest.log
  "$@" --gtest_color=no 2>&1 | tee "$log" || return 1
  if ! grep -qE '^\[  PASSED  \] [1-9]' "$log" || grep -q '^\[  SKIPPED \]' "$log"; then
    echo "a test was skipped, or none was run"
    return 1
  fi
}

sanitize() {
  run_gtest "$sanitizer" --tool "$1" --error-exitcode 1 build/tests/kernel_test \
    --gtest_filter='*Smoke*'
}

# Unless the sanitizer reports a planted fault, its silence about the real kernels means nothing.
sanitizer_finds_planted_fault() {
  local log=$scratch/planted.log
  if "$sanitizer" --tool memcheck --error-exitcode 1 build/tests/kernel_test \
    --gtest_also_run_disabled_tests --gtest_filter='*Planted*' >"$log" 2>&1; then
    cat "$log"
    return 1
  fi
  grep -E 'Invalid __global__ write|ERROR SUMMARY' "$log" | sort -u
  grep -q 'Invalid __global__ write' "$log"
}

# sweep <database> <log>: the smoke space on the smoke shapes.
sweep() {
  "$program" --shapes smoke.yaml --space smoke --require-gpu --cache-dir "$scratch/cache" \
    --db "$1" >"$2" 2>&1
}

# Of a sweep's log: trials that it measured, and trials that the database then held.
measured() { sed -n 's/^measured \([0-9]*\) trials.*/\1/p' "$1"; }
held() { sed -n 's/^measured .* holds \([0-9]*\) of these shapes$/\1/p' "$1"; }

smoke_sweep() {
  sweep "$scratch/fresh.db" "$scratch/fresh.log" || { cat "$scratch/fresh.log"; return 1; }
  cat "$scratch/fresh.log"
  (($(measured "$scratch/fresh.log") > 0)) && ! grep -q '^failed: ' "$scratch/fresh.log"
}

# SIGKILL in the middle of the second shape; what had finished must stay as it was and not be
# measured again, and the next run must measure exactly the rest.
kill_and_resume() {
  local db=$scratch/killed.db log=$scratch/killed.log resumed=$scratch/resumed.log
  local again=$scratch/again.log pid shape before after
  # Not through sweep(): $! must be the program, not a shell around it.
  "$program" --shapes smoke.yaml --space smoke --require-gpu --cache-dir "$scratch/cache" \
    --db "$db" >"$log" 2>&1 &
  pid=$!
  until grep -q '^shape 2/' "$log"; do
    kill -0 "$pid" 2>/dev/null || { cat "$log"; echo "it ended before its second shape"; return 1; }
    sleep 0.1
  done
  sleep 0.3
  kill -KILL "$pid" || { echo "it ended before it could be killed"; return 1; }
  wait "$pid" 2>/dev/null
  shape=$(sed -n 's/^shape 1\/[0-9]*: \([^ ]*\) finished.*/\1/p' "$log")
  before=$("$program" best --db "$db" --shapes "$shape" --format json 2>/dev/null)
  sweep "$db" "$resumed" || { cat "$resumed"; return 1; }
  after=$("$program" best --db "$db" --shapes "$shape" --format json 2>/dev/null)
  sweep "$db" "$again" || { cat "$again"; return 1; }
  echo "fresh: $(measured "$scratch/fresh.log") measured; resumed: $(measured "$resumed")" \
    "measured, $(held "$resumed") held; once more: $(measured "$again") measured"
  [[ -n $before && $before == "$after" ]] || { echo "$shape is not what it was"; return 1; }
  if grep -q ": $shape[ ,]" "$resumed"; then echo "$shape was measured again"; return 1; fi
  (($(held "$resumed") == $(held "$scratch/fresh.log"))) || return 1
  (($(measured "$resumed") > 0 && $(measured "$resumed") < $(measured "$scratch/fresh.log"))) ||
    return 1
  (($(measured "$again") == 0))
}

# ---- Running and recording them ----

entries=()
passed=true
check() {
  local name=$1 outcome=ok start=$SECONDS log=$scratch/check.log
  shift
  "$@" >"$log" 2>&1 || { outcome=failed; passed=false; }
  local seconds=$((SECONDS - start))
  printf '%-6s %4d s  %s\n' "$outcome" "$seconds" "$name"
  if [[ $outcome != ok ]]; then tail -n 40 "$log" | sed 's/^/    /'; fi
  entries+=("    {\"check\": \"$name\", \"outcome\": \"$outcome\", \"seconds\": $seconds}")
}

check "doctor" "$program" doctor --cache-dir "$scratch/cache" --db "$scratch/fresh.db"
for source in tests/gpu/*_test.cpp; do
  name=$(basename "$source" .cpp)
  check "$name" run_gtest "build/tests/$name"
done
check "compute-sanitizer finds a planted fault" sanitizer_finds_planted_fault
check "compute-sanitizer memcheck" sanitize memcheck
check "compute-sanitizer synccheck" sanitize synccheck
check "smoke sweep" smoke_sweep
check "kill and resume" kill_and_resume

{
  echo '{'
  echo "  \"passed\": $passed,"
  echo "  \"kernel_hash\": \"$("$program" doctor --kernel-hash)\","
  echo "  \"date\": \"$(date -u +%Y-%m-%dT%H:%M:%SZ)\","
  echo '  "checks": ['
  for ((i = 0; i < ${#entries[@]}; ++i)); do
    echo "${entries[i]}$( ((i + 1 < ${#entries[@]})) && echo ,)"
  done
  echo '  ],'
  echo "  \"environment\": $(sed '2,$s/^/  /' <<<"$environment")"
  echo '}'
} >"$scratch/gpu-check.json"
mv "$scratch/gpu-check.json" "$output/gpu-check.json"
echo "Written to $output/gpu-check.json"
[[ $passed == true ]]
