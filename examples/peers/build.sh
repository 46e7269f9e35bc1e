#!/usr/bin/env bash
# examples/peers/build.sh OUTPUT [M_N_K...]: builds the peers whose projects are there, into OUTPUT.
#
#   CUTLASS_DIR   a checkout of CUTLASS; recorded with v4.7.0         -> OUTPUT/cutlass.so, and for
#                 8-bit operands OUTPUT/cutlass_fp8.so
#   DEEP_GEMM_DIR a checkout of DeepGEMM; recorded with 54e2261       -> OUTPUT/deep_gemm.so, and
#                 for 8-bit operands OUTPUT/deep_gemm_fp8.so
#   DEEP_GEMM_LAYERS  layers as 7168_2048 for which the 8-bit kernels are also built with N and K as
#                 constants, as DeepGEMM itself builds them  -> OUTPUT/deep_gemm_fp8_7168_2048.so
#   PEERS         of the two projects above only these, as in "cutlass_fp8 deep_gemm_fp8"
#   CUDA_L2_DIR   a checkout of CUDA-L2; recorded with dbe0177        -> OUTPUT/cuda_l2.so, and for
#                 each M_N_K its kernel, OUTPUT/cuda_l2/M_N_K.so. A kernel that does not build is
#                 named, and the peer says later that it does not compute the problem.
#   CUTLASS_L2_DIR  the CUTLASS that CUDA-L2 asks for, v4.2.1 (default: CUTLASS_DIR)
#   JOBS          kernels of CUDA-L2 that are built at a time (default: one for each CPU)
#   TRITON_PYTHON a python with Triton 3.4 or later, such as python3  -> OUTPUT/triton.so
#   TORCH_PYTHON  a python with PyTorch for CUDA, such as python3     -> OUTPUT/torch_matmul.so
#
# Nothing is downloaded. nvcc of CUDA 13 must be on the PATH. Then:
#
#   hgemm-tune race --peer OUTPUT/cutlass.so --shapes square
#   hgemm-tune race --peer OUTPUT/cutlass_fp8.so --shapes fp8.yaml
#   hgemm-tune race --peer OUTPUT/cuda_l2.so:OUTPUT/cuda_l2 --shapes 4096x4096x4096.fp16
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
output=${1:?usage: examples/peers/build.sh OUTPUT [M_N_K...]}
shift
mkdir -p "$output/cuda_l2"
output=$(cd "$output" && pwd)
toolkit=$(dirname "$(command -v nvcc)")/..

# Without NDEBUG an assertion in CUTLASS's main loop makes ptxas serialise wgmma (warning C7510).
flags=(-std=c++17 -O3 -DNDEBUG -w -shared -Xcompiler -fPIC -gencode 'arch=compute_90a,code=sm_90a'
       --expt-relaxed-constexpr --expt-extended-lambda -I"$here/../../include")

is_wanted() { [[ -z ${PEERS:-} || " $PEERS " == *" $1 "* ]]; }

if [[ -n ${CUTLASS_DIR:-} ]]; then
  for name in cutlass cutlass_fp8; do
    is_wanted $name || continue
    nvcc "${flags[@]}" -I"$CUTLASS_DIR/include" -I"$CUTLASS_DIR/tools/util/include" \
      "$here/$name.cu" -o "$output/$name.so"
    echo "built $output/$name.so"
  done
fi

if [[ -n ${DEEP_GEMM_DIR:-} ]]; then
  build_deep_gemm() {
    local name=$1 source=$2
    nvcc "${flags[@]/c++17/c++20}" "${@:3}" -I"$DEEP_GEMM_DIR/deep_gemm/include" \
      -I"${CUTLASS_DIR:?DeepGEMM needs CUTLASS: set CUTLASS_DIR}/include" "$here/$source.cu" -lcuda \
      -L"$toolkit/lib64/stubs" -o "$output/$name.so"
    echo "built $output/$name.so"
  }
  for name in deep_gemm deep_gemm_fp8; do
    if is_wanted $name; then build_deep_gemm $name $name; fi
  done
  for layer in ${DEEP_GEMM_LAYERS:-}; do
    build_deep_gemm "deep_gemm_fp8_$layer" deep_gemm_fp8 "-DDEEP_GEMM_N=${layer%_*}" \
      "-DDEEP_GEMM_K=${layer#*_}"
  done
fi

if [[ -n ${TRITON_PYTHON:-} ]]; then
  mkdir -p "$output/triton"
  "$TRITON_PYTHON" "$here/triton/gemm.py" "$output/triton/triton_kernels.h"
  nvcc "${flags[@]}" -I"$output/triton" "$here/triton/peer.cpp" -lcuda -L"$toolkit/lib64/stubs" \
    -o "$output/triton.so"
  echo "built $output/triton.so"
fi

if [[ -n ${TORCH_PYTHON:-} ]]; then
  # The folder of the package, and which strings its libraries use (_GLIBCXX_USE_CXX11_ABI).
  torch=$("$TORCH_PYTHON" -c 'import os, torch; print(os.path.dirname(torch.__file__))')
  abi=$("$TORCH_PYTHON" -c 'import torch; print(int(torch.compiled_with_cxx11_abi()))')
  "${CXX:-g++}" -std=c++20 -O2 -w -fPIC -shared -D_GLIBCXX_USE_CXX11_ABI="$abi" \
    -I"$here/../../include" -isystem "$torch/include" \
    -isystem "$torch/include/torch/csrc/api/include" -isystem "$toolkit/include" \
    "$here/torch_matmul.cpp" -o "$output/torch_matmul.so" -L"$torch/lib" -Wl,-rpath,"$torch/lib" \
    -Wl,--no-as-needed -lc10 -lc10_cuda -ltorch_cpu -ltorch_cuda -ltorch -ldl
  echo "built $output/torch_matmul.so"
fi

if [[ -n ${CUDA_L2_DIR:-} ]]; then
  nvcc "${flags[@]}" -I"$here/cuda_l2" "$here/cuda_l2/peer.cu" -ldl -o "$output/cuda_l2.so"
  echo "built $output/cuda_l2.so"
  cutlass=${CUTLASS_L2_DIR:-${CUTLASS_DIR:?CUDA-L2 needs CUTLASS: set CUTLASS_L2_DIR}}
  build_kernel() {
    local name=$1 file="$CUDA_L2_DIR/kernels/h100_F32F16F16F32/$1.cu"
    [[ -e $output/cuda_l2/$name.so ]] && return
    # Their kernels run on the default stream, which is that of the thread for the peer.
    if nvcc "${flags[@]}" -default-stream per-thread -I"$here/cuda_l2" -I"$cutlass/include" \
      -I"$cutlass/tools/util/include" -DHGEMM_L2_FILE="\"$file\"" "$here/cuda_l2/kernel.cu" \
      -o "$output/cuda_l2/$name.tmp" 2>"$output/cuda_l2/$name.log"; then
      mv "$output/cuda_l2/$name.tmp" "$output/cuda_l2/$name.so"
      rm "$output/cuda_l2/$name.log"
    else
      echo "$name does not build: $(grep -m1 error "$output/cuda_l2/$name.log")"
    fi
  }
  running=0
  for name in "$@"; do
    ((running++ < ${JOBS:-$(nproc)})) || wait -n || true
    build_kernel "$name" &
  done
  wait
fi
