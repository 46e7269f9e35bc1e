# Sourced by quickstart.sh, test.sh and package.sh: installs the missing Debian packages, including
# those in `test_packages`, and finds CUDA.
# Sets `root` (the project folder) and configures a preset, `release` into build/ unless `preset`
# names another.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

packages=(build-essential cmake ninja-build git file libcli11-dev libsqlitecpp-dev libsqlite3-dev
  libyaml-cpp-dev libfmt-dev nlohmann-json3-dev libgtest-dev libgmock-dev libxxhash-dev
  clang-format python3-matplotlib node-d3 ${test_packages[@]+"${test_packages[@]}"})

install_missing_packages() {
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    echo "No apt-get here: make sure that the equivalents of these are installed: ${packages[*]}" >&2
    return
  fi
  local missing=() package
  for package in "${packages[@]}"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
      missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  local as_root=()
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      echo "Packages are missing and there is no sudo; as root, run: apt-get install ${missing[*]}" >&2
      exit 1
    fi
    as_root=(sudo)
  fi
  echo "Installing ${missing[*]}"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -qy --no-install-recommends "${missing[@]}"
}

# CUDA_HOME, else the usual folder, else the nvcc on PATH.
find_cuda() {
  local candidate
  for candidate in "${CUDA_HOME:-}" /usr/local/cuda; do
    if [[ -n $candidate && -x $candidate/bin/nvcc ]]; then
      cuda_home=$candidate
      return
    fi
  done
  if command -v nvcc >/dev/null; then
    cuda_home=$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")
    return
  fi
  cat >&2 <<'EOF'
No CUDA toolkit: neither $CUDA_HOME, nor /usr/local/cuda, nor an nvcc on PATH.
Install NVIDIA's CUDA Toolkit 13 (building needs nvcc, the runtime, cuBLAS, NVRTC and CUPTI, but no
GPU and no driver), or set CUDA_HOME to where it is.
EOF
  exit 1
}

install_missing_packages
find_cuda
cd "$root"
cmake --preset "${preset:-release}" -DCUDAToolkit_ROOT="$cuda_home" -DCMAKE_CUDA_COMPILER="$cuda_home/bin/nvcc" "$@"
