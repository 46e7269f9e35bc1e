#!/usr/bin/env bash
# Builds with sanitizers and runs the CPU tests: scripts/sanitizers.sh address|thread [test...]
#   address   the whole program and all tests under ASan and UBSan (preset debug, build-debug/)
#   thread    the code that runs threads and processes under TSan (preset tsan, build-tsan/): the
#             tests of store, tune, worker and compile
# With test names (stems of files in tests/) only these run. A first run compiles everything, which
# takes long, so it is not a part of test.sh.
set -euo pipefail
kind=${1:-}
stems=("${@:2}")
case $kind in
  address) preset=debug ;;
  thread) preset=tsan ;;
  *)
    sed -n '2,/^set/{/^set/d; s/^# \{0,1\}//; p}' "$0" >&2
    exit 2
    ;;
esac

launchers=()
if command -v ccache >/dev/null; then
  launchers=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_CUDA_COMPILER_LAUNCHER=ccache)
fi
test_packages=()
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh" -DBUILD_TESTING=ON \
  ${launchers[@]+"${launchers[@]}"} >/dev/null
build=build-$preset

# What the tests need to know: scripts/*.supp say what is not reported, and why.
# Crashes are left to the parent, which tells their signal; tests crash children on purpose.
export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1:handle_segv=0:handle_abort=0
export LSAN_OPTIONS=suppressions=$root/scripts/lsan.supp:print_suppressions=0
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS=suppressions=$root/scripts/tsan.supp:halt_on_error=1:second_deadlock_stack=1:handle_segv=0:handle_abort=0

if ((${#stems[@]} == 0)) && [[ $kind == thread ]]; then
  for source in tests/{store,tune,worker,compile}/*_test.cpp; do
    stems+=("$(basename "$source" .cpp)")
  done
fi
if ((${#stems[@]} == 0)); then
  cmake --build --preset "$preset"
  # Left out: CUPTI's libraries ask for RTLD_DEEPBIND, which sanitizers refuse; one test limits the
  # CPU time of the program; Slurm's daemons start tasks that this shell's options do not reach.
  ctest --test-dir "$build" -L cpu -j "$(nproc)" --output-on-failure \
    -E 'CuptiHost|FiveHundredPredictionsAreNoLongWait|^slurm$'
  exit
fi

# Executables one by one: ctest would need all that are not built to be there.
cmake --build --preset "$preset" --target "${stems[@]}"
failed=()
for stem in "${stems[@]}"; do
  echo "== $stem"
  "$build/tests/$stem" --gtest_brief=1 || failed+=("$stem")
done
if ((${#failed[@]})); then
  echo "Failed under the $kind sanitizer: ${failed[*]}" >&2
  exit 1
fi
echo "${#stems[@]} tests passed under the $kind sanitizer"
