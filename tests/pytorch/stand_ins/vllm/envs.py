import os

environment_variables = {
    "VLLM_BATCH_INVARIANT": lambda: bool(int(os.getenv("VLLM_BATCH_INVARIANT", "0"))),
}


def __getattr__(name):
    if name in environment_variables:
        return environment_variables[name]()
    raise AttributeError(name)


def compile_factors():
    """Values by which compiled graphs are kept."""
    factors = {}
    for factor, getter in environment_variables.items():
        factors[factor] = getter()
    return factors
