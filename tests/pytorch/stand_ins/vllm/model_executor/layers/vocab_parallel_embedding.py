from vllm.model_executor.layers.utils import dispatch_unquantized_gemm


class UnquantizedEmbeddingMethod:
    def apply(self, layer, x, bias=None):
        return dispatch_unquantized_gemm()(layer, x, layer.weight, bias)
