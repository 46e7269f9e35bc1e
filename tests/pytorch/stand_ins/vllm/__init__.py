"""What hgemm_tune.vllm uses of vLLM 0.33.0, as it behaves there. contract.py holds both to it."""

__version__ = "0.33.0"
