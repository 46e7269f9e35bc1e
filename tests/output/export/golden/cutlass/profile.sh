#!/usr/bin/env bash
# Written by hgemm-tune 0123abcd: the kernels of CUTLASS's library that are the nearest to ours. A swapped
# kernel's problem is the transposed one (m and n exchanged). Build them with
#   cmake .. -DCUTLASS_NVCC_ARCHS=90a -DCUTLASS_LIBRARY_INSTANTIATION_LEVEL=max \
#     -DCUTLASS_LIBRARY_KERNELS="$(paste -sd, kernels.txt)"
# gpu: NVIDIA H200
# compute_capability: 9.0
# sm_count: 132
# driver: {"min":"580.95","max":"580.159.04"}
# cuda: {"min":"13.0","max":"13.0"}
# measured_kernel_hashes: ["0123456789abcdef0123456789abcdef"]
# kernel_hash: fedcba9876543210fedcba9876543210
# hgemm_tune: 0123abcd
set -euo pipefail
profiler=${1:?usage: profile.sh PATH_OF_CUTLASS_PROFILER}
# 256x512x640: bm128.bn96.bk64.q4.c2x1.coop2.d1.group4.tma.persist, 15.00 us; again: hgemm-tune --shapes 256x512x640 --config bm128.bn96.bk64.q4.c2x1.coop2.d1.group4.tma.persist --regime sustained
"$profiler" --operation=Gemm --kernels=cutlass3x_sm90_tensorop_gemm_bf16_bf16_f32_void_bf16_128x96x64_2x1x1_0_tnt_align8_warpspecialized_cooperative_epi_tma --m=256 --n=512 --k=640 --raster_order=along_n --swizzle_size=4 --split_k_slices=1
# 16x512x640: swap_ab.bm16.bn64.bk128.q4.d1.tma.csplit2.p128, 10.00 us; again: hgemm-tune --shapes 16x512x640 --config swap_ab.bm16.bn64.bk128.q4.d1.tma.csplit2.p128 --regime sustained
"$profiler" --operation=Gemm --kernels=cutlass3x_sm90_tensorop_gemm_bf16_bf16_f32_void_bf16_64x16x128_1x1x1_0_tnn_align8_warpspecialized_pingpong_epi_tma --m=512 --n=16 --k=640 --raster_order=along_m --swizzle_size=1 --split_k_slices=1
# 1x512x640: swap_ab.bm8.bn64.bk128.q4.d1.tma.csplit2.p128.fixed, 10.00 us; again: hgemm-tune --shapes 1x512x640 --config swap_ab.bm8.bn64.bk128.q4.d1.tma.csplit2.p128.fixed --regime sustained
"$profiler" --operation=Gemm --kernels=cutlass3x_sm90_tensorop_gemm_bf16_bf16_f32_void_bf16_64x16x128_1x1x1_0_tnn_align8_warpspecialized_pingpong_epi_tma --m=512 --n=1 --k=640 --raster_order=along_m --swizzle_size=1 --split_k_slices=1
# 384x256x4096: bm128.bn128.bk64.q4.c1x1.coop2.d1.linear.tma.stream.gpc, 20.00 us; again: hgemm-tune --shapes 384x256x4096 --config bm128.bn128.bk64.q4.c1x1.coop2.d1.linear.tma.stream.gpc --regime sustained
"$profiler" --operation=Gemm --kernels=cutlass3x_sm90_tensorop_gemm_bf16_bf16_f32_void_bf16_128x128x64_1x1x1_0_tnt_align8_stream_k_warpspecialized_cooperative_epi_tma --m=384 --n=256 --k=4096 --raster_order=along_m --swizzle_size=1 --split_k_slices=1
# 256x512x640.dfp32: bm128.bn96.bk64.q4.c2x1.coop2.d1.group4.tma.persist, 15.00 us; again: hgemm-tune --shapes 256x512x640.dfp32 --config bm128.bn96.bk64.q4.c2x1.coop2.d1.group4.tma.persist --regime sustained
"$profiler" --operation=Gemm --kernels=cutlass3x_sm90_tensorop_gemm_bf16_bf16_f32_void_f32_128x96x64_2x1x1_0_tnt_align8_warpspecialized_cooperative_epi_tma --m=256 --n=512 --k=640 --raster_order=along_n --swizzle_size=4 --split_k_slices=1
