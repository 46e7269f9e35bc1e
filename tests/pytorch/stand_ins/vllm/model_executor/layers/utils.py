import torch
from vllm.platforms import current_platform


def default_unquantized_gemm(layer, x, weight, bias=None):
    return torch.nn.functional.linear(x, weight, bias)


def flashinfer_gemm(layer, x, weight, bias=None):
    return torch.nn.functional.linear(x, weight, bias)


def dispatch_unquantized_gemm(linear_backend="auto"):
    if current_platform.is_cuda() and linear_backend == "flashinfer_cutedsl":
        return flashinfer_gemm
    return default_unquantized_gemm
