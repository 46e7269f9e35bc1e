"""Written by scripts/write_python_fields.py, which scripts/write_reference.sh calls."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Best:
    """The fastest verified config of one problem in one regime: a row of `hgemm-tune best`.

    None stands where nothing is known.
    """

    #: rows of A and D (rows)
    m: int
    #: rows of B; columns of D, which has half as many with a gate (columns)
    n: int
    #: columns of A and B, which are summed over (columns)
    k: int
    #: the types in short: "bf16" where A, B and D have the same, "bf16.dfp32" where D has another;
    #: "e4m3" with a bf16 D, and "e4m3.accfast" with fast sums
    dtype: str
    #: of A (first letter) and B; TN: A is M x K and B is N x K, each with K contiguous
    layout: str
    #: from one row of A to the next (values)
    lda: int
    #: from one row of B to the next (values)
    ldb: int
    #: from one row of D to the next (values)
    ldd: int
    #: what A and B held while kernels were timed: normal, uniform, integers, zeros, sparse, or
    #: file- with the hash of tensors from a file
    data: str
    #: where the problem is from, as the shapes file says; may be empty
    tag: str
    #: sustained (at full load for long), burst (after idle time), single (one call) or chain
    regime: str
    #: the fastest verified config; with --objective energy by joules. None if: no config ended ok
    #: at the problem
    label: str | None
    #: median time of one GEMM; in the regime chain with the elementwise kernels before and after it
    #: (us). None if: no config ended ok at the problem
    time_us: float | None
    #: 2 m n k by time_us (TFLOP/s). None if: no config ended ok at the problem
    tflops: float | None
    #: time of cublasGemmEx's default (with 8-bit operands: of the first choice of cuBLASLt's
    #: heuristic) by that of the config: the median over the rounds of their race; above 1 the
    #: config is faster. None if: the baseline was not measured beside the config
    ratio_cublas: float | None
    #: lower end of its 95 % interval. None if: there is no ratio, only screening was measured, or
    #: few rounds
    ratio_cublas_low: float | None
    #: upper end of its 95 % interval. None if: there is no ratio, only screening was measured, or
    #: few rounds
    ratio_cublas_high: float | None
    #: the same against the fastest algorithm that cuBLASLt's heuristic returns. None if: the
    #: baseline was not measured beside the config
    ratio_cublaslt: float | None
    #: lower end of its 95 % interval. None if: there is no ratio, only screening was measured, or
    #: few rounds
    ratio_cublaslt_low: float | None
    #: upper end of its 95 % interval. None if: there is no ratio, only screening was measured, or
    #: few rounds
    ratio_cublaslt_high: float | None
    #: clock of the SMs while the config was timed (MHz). None if: no config ended ok at the problem
    sm_mhz: float | None
    #: share of the tensor cores' dense peak at sm_mhz. None if: no config ended ok at the problem
    peak_fraction: float | None
    #: the bytes of A, B and D, each once, by time_us (TB/s). None if: no config ended ok at the
    #: problem
    memory_tbps: float | None
    #: energy of one GEMM at full load (J). None if: energy was not measured
    joules: float | None
    #: 2 m n k by joules (GFLOP/J). None if: energy was not measured
    gflops_per_joule: float | None
    #: the config's result was checked and is correct
    verified: bool
    #: labels of the finalists that cannot be told from the config, or are within 0.5 % of it;
    #: tables show how many
    ties: tuple[str, ...]
    #: median time of cublasGemmEx's default (us). None if: the baseline was not measured beside the
    #: config
    cublas_time_us: float | None
    #: median time of cuBLASLt's fastest (us). None if: the baseline was not measured beside the
    #: config
    cublaslt_time_us: float | None
    #: which of cuBLASLt's algorithms that was. None if: the baseline was not measured beside the
    #: config
    cublaslt_label: str | None
    #: ratio_cublas in cycles of the SM clock: as if both ran at the same clock. None if: the
    #: baseline was not measured beside the config
    ratio_cublas_cycles: float | None
    #: energy of one GEMM by cublasGemmEx's default (J). None if: energy was not measured
    cublas_joules: float | None
    #: energy of one GEMM by cuBLASLt's fastest (J). None if: energy was not measured
    cublaslt_joules: float | None
    #: why the clock was held down while the row was timed, as NVML's bits of event reasons (bits).
    #: None if: no config ended ok at the problem
    clock_events: int | None
    #: full; brief: measured within a time budget, before the clock had settled; screened: by a few
    #: rounds that also chose it. None if: no config ended ok at the problem
    effort: str | None
    #: the problem's key, as --shapes reads it: "64x64x60.fp16.lda64"
    problem: str
    #: type of A
    a_dtype: str
    #: type of B
    b_dtype: str
    #: type of D
    d_dtype: str
    #: products that one launch computes
    batch: int
    #: how 8-bit operands are scaled: none, tensor, rows, blocks, packed_blocks or row_blocks
    scaling: str
    #: what is computed on the sum
    epilogue: str
    #: type of C, which is added. None if: there is no C
    c_dtype: str | None
    #: the config's PDL kind: off, safe or weights. None if: no config ended ok at the problem
    pdl: str | None
    #: hash of the code of the config's kernel; "sources:...", a hash of its sources, where the
    #: database is older than kernel ids. None if: no config ended ok at the problem
    kernel_id: str | None
    #: name of the GPU. None if: the problem was never recorded
    gpu: str | None
    #: version of the NVIDIA driver. None if: the problem was never recorded
    driver: str | None
    #: version of the CUDA toolkit. None if: the problem was never recorded
    cuda: str | None
    #: version of cuBLAS. None if: the problem was never recorded
    cublas: str | None
    #: day of the race, as 2026-11-20 (UTC). None if: the problem was never recorded
    date: str | None
    #: cublas_joules by joules; above 1 the config takes less. None if: energy was not measured
    ratio_cublas_joules: float | None
    #: the best config without PDL, of the same races; label itself where that has no PDL. None if:
    #: no config without PDL ended ok at the problem
    pdl_off_label: str | None
    #: median time of one GEMM by pdl_off_label (us). None if: there is no such config, or it was
    #: only screened
    pdl_off_time_us: float | None
    #: ratio_cublas of pdl_off_label; where it is below 1 and ratio_cublas above, the lead is by
    #: PDL. None if: there is no such config, or the baseline was not measured beside it
    pdl_off_ratio_cublas: float | None
    #: lower end of its 95 % interval. None if: there is no ratio, only screening was measured, or
    #: few rounds
    pdl_off_ratio_cublas_low: float | None
    #: upper end of its 95 % interval. None if: there is no ratio, only screening was measured, or
    #: few rounds
    pdl_off_ratio_cublas_high: float | None
    #: ratio_cublaslt of pdl_off_label. None if: there is no such config, or the baseline was not
    #: measured beside it
    pdl_off_ratio_cublaslt: float | None
    #: lower end of its 95 % interval. None if: there is no ratio, only screening was measured, or
    #: few rounds
    pdl_off_ratio_cublaslt_low: float | None
    #: upper end of its 95 % interval. None if: there is no ratio, only screening was measured, or
    #: few rounds
    pdl_off_ratio_cublaslt_high: float | None
    #: median time that the host spends in a call (us). None if: the regime is not single, or the
    #: config was only screened
    host_us: float | None
    #: median time from the start of a call's first kernel to the end of its last, by CUPTI (us).
    #: None if: the same, or the race was brief, or CUPTI was not available
    kernel_us: float | None
    #: host_us of cublasGemmEx's default (us). None if: the regime is not single, or the config was
    #: only screened
    cublas_host_us: float | None
    #: kernel_us of cublasGemmEx's default (us). None if: the same, or the race was brief, or CUPTI
    #: was not available
    cublas_kernel_us: float | None
    #: host_us of cuBLASLt's fastest (us). None if: the regime is not single, or the config was only
    #: screened
    cublaslt_host_us: float | None
    #: kernel_us of cuBLASLt's fastest (us). None if: the same, or the race was brief, or CUPTI was
    #: not available
    cublaslt_kernel_us: float | None
    #: UUID of the GPU that the row was measured on. None if: the problem was never recorded
    card: str | None
    #: on a second GPU the config is the best, too, or ties with the best. None if: no second GPU
    #: measured the config to the end
    confirmed: bool | None
    #: UUID of the second GPU. None if: no second GPU measured the config to the end
    second_card: str | None
    #: the best config on the second GPU. None if: no second GPU measured the config to the end
    second_card_label: str | None
    #: GPUs of the same host that the run kept busy beside this one. None if: the row was recorded
    #: before this was known
    neighbours: int | None
    #: how cublaslt_label computes the epilogue: fused, or separate, in a second launch that is
    #: timed with it (cublasGemmEx's always is). None if: the problem has none, or the baseline was
    #: not measured beside the config
    cublaslt_epilogue: str | None
    #: from one product's A to the next; 0: all products have the same (values). None if: the
    #: problem is a single product, or a batch by pointers
    stride_a: int | None
    #: from one product's B to the next; 0: all products have the same (values). None if: the
    #: problem is a single product, or a batch by pointers
    stride_b: int | None
    #: from one product's D to the next (values). None if: the problem is a single product, or a
    #: batch by pointers
    stride_d: int | None
    #: how the products of a batch are found: strided, or by arrays of pointers
    products: str
    #: how sums are kept: fp32, or fast, in the tensor cores to the end
    accumulator: str
    #: scale of a D of 8 bits: given, or blocks, which the kernel finds
    d_scaling: str
    #: time of the config, which is batch-invariant, by that of any_kind_label; 1 where that is the
    #: same. Beside configs of another race it is found by the ratios to cublas. None if: any config
    #: may answer (without --batch-invariant), or no config of another kind ended ok
    price: float | None
    #: the best config of any kind in the same database, batch-invariant or not. None if: any config
    #: may answer (without --batch-invariant), or no config of another kind ended ok
    any_kind_label: str | None
    #: largest error of an output by verify's measure; in tables of 8-bit operands. None if: no
    #: config ended ok at the problem
    error: float | None
    #: the same of cublasGemmEx's default. None if: the baseline was not measured beside the config
    cublas_error: float | None
