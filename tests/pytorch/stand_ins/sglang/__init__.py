"""What hgemm_tune.sglang uses of SGLang 0.5.23, as it behaves there. contract.py holds both to it."""
