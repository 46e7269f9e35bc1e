#!/usr/bin/env bash
# Sets up, builds everything with warnings as errors, and runs the tests. Without a Hopper GPU the
# tests that need one are skipped by name. Each parser is fuzzed for HGEMM_FUZZ_SECONDS (60; 0: not
# at all). ctest's summary of the CPU tests comes last.
set -euo pipefail
# chromium opens the report's page; the others are a cluster on this machine, for tests/slurm.
test_packages=(chromium slurmctld slurmd slurm-client munge python3-venv)
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh" -DBUILD_TESTING=ON \
  -DCMAKE_COMPILE_WARNING_AS_ERROR=ON

# Other versions format differently. The sources follow version 14, which Debian 12 has.
check_format() {
  if ! clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
    echo "Format: not checked, there is no clang-format 14 here"
    return
  fi
  find src tests kernels package runtime examples -name '*.h' -o -name '*.cpp' -o -name '*.cuh' -o -name '*.cu' |
    xargs clang-format --dry-run --Werror || {
    echo "Format: run clang-format -i on the files above" >&2
    exit 1
  }
  echo "Format: ok"
}

boxed_warning() {
  local line
  echo "************************************************************************************"
  for line in "$@"; do printf '*** %-76s ***\n' "$line"; done
  echo "************************************************************************************"
}

# gpu_check.sh records the results that need a GPU, for the kernels that it ran.
check_recorded_gpu_checks() {
  local current recorded file found=0
  current=$(build/hgemm-tune doctor --kernel-hash)
  for file in results/*/gpu-check.json; do
    [[ -e $file ]] || continue
    found=1
    recorded=$(sed -n '/"kernel_hash"/{s/.*: *"\([^"]*\)".*/\1/p;q}' "$file")
    if [[ $recorded != "$current" ]]; then
      boxed_warning "WARNING: kernels/ has changed since the last check on a GPU." \
        "$file is about ${recorded:-?}" "the kernels of now are      $current" \
        "Run scripts/gpu_check.sh on a Hopper GPU and commit what it writes."
    elif ! grep -q '"passed": true' "$file"; then
      boxed_warning "WARNING: the last check on a GPU of these kernels failed: see $file"
    else
      echo "GPU check: $file is about the kernels of now"
    fi
  done
  ((found)) || boxed_warning "WARNING: these kernels were never checked on a GPU." \
    "Run scripts/gpu_check.sh on a Hopper GPU and commit what it writes."
}

# What pip builds a wheel with is no Debian package, so it has an environment of its own. Without a
# package index the wheel's test is skipped.
install_wheel_builder() {
  local builder
  builder=$(sed -n 's/^requires = \["\(.*\)"\]$/\1/p' pyproject.toml)
  [[ -x build/python/bin/python3 ]] || python3 -m venv build/python
  build/python/bin/python3 -m pip install --quiet "$builder" ||
    boxed_warning "WARNING: pip cannot install $builder." "The test of the Python wheel is skipped."
}

run_gpu_tests() {
  if build/hgemm-tune doctor --environment >/dev/null 2>&1; then
    ctest --preset gpu
    return
  fi
  local names
  names=$(ctest --preset gpu -N | sed -n '/(Disabled)/d; s/  # GetParam.*//; s/^ *Test *#[0-9]*: /  skipped: /p')
  echo "GPU tests: no Hopper GPU here"
  [[ -z $names ]] || echo "$names"
  echo "GPU tests: $(grep -c skipped <<<"$names" || true) skipped"
}

check_format
install_wheel_builder
cmake --build --preset release
check_recorded_gpu_checks
outcome=0
run_gpu_tests || outcome=1
fuzz_seconds=${HGEMM_FUZZ_SECONDS:-60}
if ((fuzz_seconds > 0)); then
  scripts/fuzz.sh "$fuzz_seconds" || outcome=1
fi
ctest --preset cpu -j "$(nproc)" || outcome=1
exit $outcome
