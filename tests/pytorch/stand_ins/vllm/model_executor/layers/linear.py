import vllm.envs as envs
from vllm.model_executor.layers.utils import dispatch_unquantized_gemm


def linear_batch_invariant(x, weight, bias):
    raise AssertionError("vLLM computes this by a kernel of its own")


class UnquantizedLinearMethod:
    def __init__(self) -> None:
        linear_backend = "auto"
        self._gemm_impl = dispatch_unquantized_gemm(linear_backend)

    def apply(self, layer, x, bias=None):
        if envs.VLLM_BATCH_INVARIANT:
            return linear_batch_invariant(x, layer.weight, bias)
        return self._gemm_impl(layer, x, layer.weight, bias)
