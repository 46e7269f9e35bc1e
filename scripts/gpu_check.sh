#!/usr/bin/env bash
# The checks that need a Hopper GPU, from a finished build folder: needs no network, and build tools
# for some cases of pytorch_test alone. Writes <output>/gpu-check.json ($1; default results/<GPU>)
# and fails if a check failed.
#   cmake --build build && scripts/gpu_check.sh
# With a pattern ($2) only the checks with a matching name run (all sweeps, if one of them matches).
# The other checks keep their recorded outcome if it is about the same kernels:
#   scripts/gpu_check.sh results/h200 'worker_test|kill and resume'
# Runs with patterns that have no check in common may run at the same time, on one GPU or several.
# Beside others on its GPU a check that judges times may fail: call_chain_test, counters_test,
# energy, micro_test, probe_test, worker_test.
# pytorch_test and shipped_test run in the Python that HGEMM_TORCH_PYTHON names, or else in python3.
# Without torch there they are skipped, and keep their recorded outcomes, too; so is shipped_test on
# a GPU that no bundle ships for. pytorch_test's cases of an exported package build one, and are
# skipped where CMake, ninja, nvcc or a C++ compiler is missing.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/gpu_output.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export HGEMM_TUNE_TEST_CACHE=$scratch/cache  # most tests compile the same kernels

# A sanitizer that hangs costs one check, not all later checks.
sanitizer_limit_s=600
sanitizer=$(command -v compute-sanitizer || echo "${CUDA_HOME:-/usr/local/cuda}/bin/compute-sanitizer")

# ---- The checks: each is a command; its output is shown if it fails ----

# gtest alone would report success for a run with skipped tests, or with no tests at all.
run_gtest() {
  local log=$scratch/gtest.log
  "$@" --gtest_color=no 2>&1 | tee "$log" || return 1
  if ! grep -qE '^\[  PASSED  \] [1-9]' "$log" || grep -q '^\[  SKIPPED \]' "$log"; then
    echo "a test was skipped, or none was run"
    return 1
  fi
}

# Compiling takes most of the time of these, and each of their tests stands alone: eight processes at
# the same time, on all GPUs in turn, share the tests. (Not so tests that judge times, or that have
# other processes on their GPU.)
in_shards=" accuracy_test batch_invariant_test batch_test epilogue_test fp32_output_test fp8_test "
in_shards+="fp8_random_test kernel_test odd_sizes_test output_scales_test overlap_test pdl_test "
in_shards+="quantise_test verify_test "
run_shards() {
  local shards=8 shard gpus pids=() passed=() failed=()
  mapfile -t gpus < <(visible_gpus)
  for ((shard = 0; shard < shards; ++shard)); do
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard \
      CUDA_VISIBLE_DEVICES=${gpus[shard % ${#gpus[@]}]} "$@" >"$scratch/shard.$shard" 2>&1 &
    pids+=($!)
  done
  for shard in "${!pids[@]}"; do
    if wait "${pids[shard]}"; then passed+=("$shard"); else failed+=("$shard"); fi
  done
  for shard in "${passed[@]}" "${failed[@]}"; do cat "$scratch/shard.$shard"; done
  ((${#failed[@]} == 0))
}
visible_gpus() {
  if [[ -n ${CUDA_VISIBLE_DEVICES:-} ]]; then
    tr , '\n' <<<"$CUDA_VISIBLE_DEVICES"
  else
    nvidia-smi --query-gpu=index --format=csv,noheader
  fi
}

# sanitize <tool>: each smoke test is a process of its own, at the same time, on all GPUs in turn.
# (One process for all of them takes a sanitizer many minutes.)
sanitize() {
  local tool=$1 binary test tests gpus outcome=0 count=0
  mapfile -t gpus < <(visible_gpus)
  for binary in kernel_test fp8_test overlap_test; do
    tests=$("build/tests/$binary" --gtest_list_tests --gtest_filter='*Smoke*' |
      sed -n 's/^  \([^ ]*\).*/\1/p')
    [[ -n $tests ]] || { echo "$binary has no smoke test"; return 1; }
    for test in $tests; do
      (
        export CUDA_VISIBLE_DEVICES=${gpus[count % ${#gpus[@]}]}
        scratch=$scratch/$tool.$test
        mkdir -p "$scratch" && sanitize_test "$tool" "$binary" "$test"
      ) &
      count=$((count + 1))
    done
  done
  for ((; count > 0; --count)); do wait -n || outcome=1; done
  return $outcome
}

# What counts of racecheck are hazards in the project's kernels. The tool also reports some in
# cuBLAS's kernels, which compute the reference. (Its filters by kernel name would exclude these,
# but with any filter the tool itself fails: "failed to handle a hardware exception",
# compute-sanitizer 2025.3.)
sanitize_test() {
  local log=$scratch/sanitizer.log start=$SECONDS options=(--error-exitcode 1)
  if [[ $1 == racecheck ]]; then options=(--print-limit 100000); fi
  run_gtest timeout -k 10 "$sanitizer_limit_s" "$sanitizer" --tool "$1" "${options[@]}" \
    "build/tests/$2" --gtest_filter="*.$3" >"$log" 2>&1 || { cat "$log"; return 1; }
  echo "$3: $((SECONDS - start)) s"
  [[ $1 == racecheck ]] || return 0
  grep 'RACECHECK SUMMARY' "$log" || return 1
  if grep 'access at .*hgemm' "$log"; then return 1; fi
}

# If the sanitizer does not report a planted fault, its silence about the real kernels means
# nothing.
# finds_planted <tool> <test> <text of the report>
finds_planted() {
  local log=$scratch/planted.log
  timeout -k 10 "$sanitizer_limit_s" "$sanitizer" --tool "$1" --print-limit 100000 build/tests/kernel_test \
    --gtest_also_run_disabled_tests --gtest_filter="*$2*" >"$log" 2>&1 || true
  grep -E "$3|SUMMARY" "$log" | sort -u | head -n 5
  grep -qE "$3" "$log"
}
sanitizer_finds_planted_faults() {
  finds_planted memcheck PlantedWrite 'Invalid __global__ write' &&
    finds_planted racecheck PlantedRace 'access at .*hgemm'
}

# sweep <database> <log> [<option>...]: the smoke space on the smoke shapes.
sweep() {
  local db=$1 log=$2
  shift 2
  "$program" --shapes smoke.yaml --space smoke --budget all --require-gpu \
    --cache-dir "$scratch/cache" --db "$db" "$@" >"$log" 2>&1
}

# start_sweep <database> <log>: in the background. Sets `pid` to the program's process, not to that
# of a shell around it, and waits until the sweep is at its second shape (of the missing ones).
start_sweep() {
  "$program" --shapes smoke.yaml --space smoke --budget all --require-gpu \
    --cache-dir "$scratch/cache" --db "$1" >"$2" 2>&1 &
  pid=$!
  until grep -q '^shape 2/' "$2"; do
    kill -0 "$pid" 2>/dev/null || { cat "$2"; echo "it ended before its second shape"; return 1; }
    sleep 0.1
  done
  sleep 0.3
}

# From a sweep's log: the trials that it measured, and the trials that the database then held.
measured() { sed -n 's/^measured \([0-9]*\) trials.*/\1/p' "$1"; }
held() { sed -n 's/^measured .* holds \([0-9]*\) of these shapes$/\1/p' "$1"; }

smoke_sweep() {
  sweep "$scratch/fresh.db" "$scratch/fresh.log" || { cat "$scratch/fresh.log"; return 1; }
  cat "$scratch/fresh.log"
  (($(measured "$scratch/fresh.log") > 0)) && ! grep -q '^failed: ' "$scratch/fresh.log"
}

smoke_sweep_burst() {
  sweep "$scratch/fresh.db" "$scratch/burst.log" --regime burst || { cat "$scratch/burst.log"; return 1; }
  cat "$scratch/burst.log"
  (($(measured "$scratch/burst.log") == $(measured "$scratch/fresh.log"))) || return 1
  "$program" best --db "$scratch/fresh.db" | tee /dev/stderr | grep -q 'winner'
}

energy() {
  "$program" --shapes 2048x4096x4096 --require-gpu --objective energy --cache-dir "$scratch/cache" \
    --config bm128.bn256.bk64.q4.c2x1.coop2.d1.hilbert.tma.persist --db "$scratch/energy.db" \
    --format json >"$scratch/energy.json" || return 1
  has_joules || return 1
  "$program" --shapes 16x4096x4096 --require-gpu --energy --budget 25s \
    --cache-dir "$scratch/cache" --db "$scratch/brief-energy.db" --format json \
    >"$scratch/energy.json" || return 1
  has_joules
}
# The one row has joules, and so has cuBLAS beside it.
has_joules() {
  grep -E '"(label|joules|cublas_joules)":' "$scratch/energy.json"
  (($(grep -cE '"(cublas_)?joules": [0-9]' "$scratch/energy.json") == 2))
}

# SIGKILL in the middle of the second shape. Finished trials must stay as they were and must not be
# measured again, and the next run must measure exactly the rest.
kill_and_resume() {
  local db=$scratch/killed.db log=$scratch/killed.log resumed=$scratch/resumed.log
  local again=$scratch/again.log pid shape before after
  start_sweep "$db" "$log" || return 1
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

# SIGINT, then SIGTERM to the run that resumes, then a run whose worker is killed while a second run
# opens its database. Each must end as specified, and in the end no trial may be missing.
stop_and_resume() {
  local db=$scratch/stopped.db log=$scratch/stopped.log pid signal code
  for signal in INT TERM; do
    start_sweep "$db" "$log" || return 1
    kill -"$signal" "$pid"
    code=0
    wait "$pid" || code=$?
    echo "SIG$signal: exit code $code, $(tail -n 1 "$log")"
    ((code == 128 + $(kill -l "$signal"))) || return 1
  done
  start_sweep "$db" "$log" || return 1
  pkill -KILL -P "$pid" || { echo "there is no worker to kill"; return 1; }
  if sweep "$db" "$scratch/second.log"; then echo "a second run was let in"; return 1; fi
  tail -n 1 "$scratch/second.log"
  grep -q "in use by another hgemm-tune (process $pid " "$scratch/second.log" || return 1
  wait "$pid" || { cat "$log"; return 1; }
  grep '^failed: ' "$log"  # a kernel that was running when its worker was killed
  sweep "$db" "$log" || { cat "$log"; return 1; }
  (($(measured "$log") == 0 && $(held "$log") == $(held "$scratch/fresh.log")))
}

# The three databases hold the same sweep.
compare_and_merge() {
  "$program" compare "$scratch/fresh.db" "$scratch/killed.db" || return 1
  "$program" merge "$scratch/fresh.db" "$scratch/killed.db" -o "$scratch/merged.db" || return 1
  "$program" merge "$scratch/fresh.db" "$scratch/killed.db" -o "$scratch/merged.db" |
    tee "$scratch/merge.log"
  (($(grep -c ': nothing that ' "$scratch/merge.log") == 2))
}

pytorch_test() { python3 -B tests/gpu/pytorch_test.py build "$program"; }
shipped_test() { python3 -B tests/gpu/shipped_test.py build "$program"; }

verify_winners() { "$program" verify --db "$scratch/fresh.db" --cache-dir "$scratch/cache"; }

# ---- Running and recording them ----

only=${2:-}
kernel_hash=$("$program" doctor --kernel-hash)
revision=$("$program" --version | sed 's/.*(\(.*\))/\1/')
names=()
declare -A lines  # of the checks that run here, by name
failed=false

# The check's line of another run, if that run was about these kernels and had this check.
recorded() {
  local file=$output/gpu-check.json
  [[ -f $file ]] && grep -qF "\"kernel_hash\": \"$kernel_hash\"," "$file" || return 0
  grep -F "{\"check\": \"$1\"," "$file" | sed 's/,$//' || true
}

# Each of these depends on what the ones before it left, so a pattern for one runs all.
sweeps=("smoke sweep" "smoke sweep in burst" "kill and resume" "stop, kill the worker, two at once"
  "compare and merge" "verify")
wanted() {
  [[ -z $only || $1 =~ $only ]] && return
  local sweep asked=false among=false
  for sweep in "${sweeps[@]}"; do
    if [[ $sweep =~ $only ]]; then asked=true; fi
    if [[ $sweep == "$1" ]]; then among=true; fi
  done
  $asked && $among
}

check() {
  local name=$1 outcome=ok code=0 start=$SECONDS log=$scratch/check.log
  shift
  names+=("$name")
  wanted "$name" || return 0
  "$@" >"$log" 2>&1 || code=$?
  if ((code == 77)); then  # as in CTest: what it needs is missing
    echo "skipped         $name: $(tail -n 1 "$log")"
    return
  fi
  if ((code != 0)); then outcome=failed failed=true; fi
  local seconds=$((SECONDS - start))
  printf '%-6s %4d s  %s\n' "$outcome" "$seconds" "$name"
  if [[ $outcome != ok ]]; then tail -n 40 "$log" | sed 's/^/    /'; fi
  local found
  found=$(sed -n 's/^a hung kernel .*/&/p' "$log" | tail -n 1)
  lines[$name]="    {\"check\": \"$name\", \"outcome\": \"$outcome\", \"seconds\": $seconds, \"revision\": \"$revision\"${found:+, \"found\": \"$found\"}}"
}

check "doctor" "$program" doctor --cache-dir "$scratch/cache" --db "$scratch/fresh.db"
for source in tests/gpu/*_test.cpp; do
  name=$(basename "$source" .cpp)
  shards=()
  [[ $in_shards == *" $name "* ]] && shards=(run_shards)
  check "$name" run_gtest "${shards[@]}" "build/tests/$name"
done
check "pytorch_test" pytorch_test
check "shipped_test" shipped_test
check "compute-sanitizer finds planted faults" sanitizer_finds_planted_faults
for tool in memcheck synccheck racecheck; do
  check "compute-sanitizer $tool" sanitize "$tool"
done
check "smoke sweep" smoke_sweep
check "smoke sweep in burst" smoke_sweep_burst
check "kill and resume" kill_and_resume
check "stop, kill the worker, two at once" stop_and_resume
check "compare and merge" compare_and_merge
check "verify" verify_winners
check "energy" energy

# Runs at the same time write one after the other, each with what the others have written.
exec {folder}<"$output"
flock "$folder"
entries=()
passed=true
for name in "${names[@]}"; do
  line=${lines[$name]:-$(recorded "$name")}
  [[ $line == *'"outcome": "ok"'* ]] || passed=false
  entries+=("${line:-    {\"check\": \"$name\", \"outcome\": \"not run\"\}}")
done
{
  echo '{'
  echo "  \"passed\": $passed,"
  echo "  \"kernel_hash\": \"$kernel_hash\","
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
[[ $failed == false ]]
