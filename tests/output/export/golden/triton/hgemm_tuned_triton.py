# Written by hgemm-tune 0123abcd: configs for a tl.dot matmul, one for each tuned shape.
#
# Each is the tile of hgemm-tune's fastest kernel as far as Triton has it: BLOCK_SIZE_M, N and K the
# CTA's tile, rounded down to powers of two and up to 16; num_stages its pipeline stages, as many as
# still fit in shared memory; num_warps its consumer warps (producers are Triton's own business);
# GROUP_SIZE_M its bands of tiles. Clusters, tiles cut along K and programmatic dependent launch have
# no counterpart. None was timed in Triton: let the autotuner choose among CONFIGS, or take the
# choice as it is with seed().
import triton

VALID_FOR = {
    "gpu": "NVIDIA H200",
    "compute_capability": "9.0",
    "sm_count": 132,
    "driver": {
        "min": "580.95",
        "max": "580.159.04"
    },
    "cuda": {
        "min": "13.0",
        "max": "13.0"
    },
    "measured_kernel_hashes": [
        "0123456789abcdef0123456789abcdef"
    ],
    "kernel_hash": "fedcba9876543210fedcba9876543210",
    "hgemm_tune": "0123abcd"
}

CONFIGS = [
    triton.Config({"BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 8}, num_warps=8, num_stages=4, num_ctas=1),
    triton.Config({"BLOCK_SIZE_M": 16, "BLOCK_SIZE_N": 64, "BLOCK_SIZE_K": 128, "GROUP_SIZE_M": 64}, num_warps=4, num_stages=4, num_ctas=1),
    triton.Config({"BLOCK_SIZE_M": 128, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 64, "GROUP_SIZE_M": 64}, num_warps=8, num_stages=4, num_ctas=1),
]

# (M, N, K, type of A and B, type of D) -> index in CONFIGS
BY_SHAPE = {
    (256, 512, 640, "torch.bfloat16", "torch.bfloat16"): 0,  # hgemm-tune --shapes 256x512x640 --config bm128.bn96.bk64.q4.c2x1.coop2.d1.group4.tma.persist --regime sustained
    (16, 512, 640, "torch.bfloat16", "torch.bfloat16"): 1,  # hgemm-tune --shapes 16x512x640 --config swap_ab.bm16.bn64.bk128.q4.d1.tma.csplit2.p128 --regime sustained
    (1, 512, 640, "torch.bfloat16", "torch.bfloat16"): 1,  # hgemm-tune --shapes 1x512x640 --config swap_ab.bm8.bn64.bk128.q4.d1.tma.csplit2.p128.fixed --regime sustained
    (384, 256, 4096, "torch.bfloat16", "torch.bfloat16"): 2,  # hgemm-tune --shapes 384x256x4096 --config bm128.bn128.bk64.q4.c1x1.coop2.d1.linear.tma.stream.gpc --regime sustained
    (256, 512, 640, "torch.bfloat16", "torch.float32"): 0,  # hgemm-tune --shapes 256x512x640.dfp32 --config bm128.bn96.bk64.q4.c2x1.coop2.d1.group4.tma.persist --regime sustained
}


def seed(autotuner):
    """Makes these the results of an autotuner with key=["M", "N", "K"], whose kernel has the tensor
    arguments A, B and D: it then benchmarks only other shapes and types."""
    for (m, n, k, inputs, output), index in BY_SHAPE.items():
        autotuner.cache[(m, n, k, inputs, inputs, output)] = CONFIGS[index]
