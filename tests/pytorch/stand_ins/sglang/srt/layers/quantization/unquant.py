from enum import Enum

import torch
import torch.nn.functional as F
from sglang.srt.batch_invariant_ops import is_batch_invariant_mode_enabled  # noqa: F401


class Bf16GemmBackend(Enum):
    AUTO = "auto"
    GEMV = "gemv"

    def is_auto(self) -> bool:
        return self == Bf16GemmBackend.AUTO


_BF16_GEMM_BACKEND = Bf16GemmBackend.AUTO


def get_bf16_gemm_backend():
    return _BF16_GEMM_BACKEND


class UnquantizedLinearMethod:
    def create_weights(self, layer, input_size_per_partition, output_partition_sizes, input_size,
                       output_size, params_dtype, **extra_weight_attrs):
        layer.weight = torch.nn.Parameter(
            torch.empty(sum(output_partition_sizes), input_size_per_partition, dtype=params_dtype),
            requires_grad=False)

    def apply(self, layer, x, bias=None):
        return F.linear(x, layer.weight, bias)
