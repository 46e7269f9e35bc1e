"""How far logits and greedy tokens of a patched model are from those of the plain one, beside how
far cuBLAS is from itself when it is asked to compute otherwise; and how far each is from fp32."""

from __future__ import annotations

import contextlib

import torch

from .models import Decoder
from .ways import Phase, difference


@contextlib.contextmanager
def _partial_sums_in_fp32():
    """Where cuBLAS splits K, it then does not round partial sums to bf16."""
    settings = torch.backends.cuda.matmul
    before = settings.allow_bf16_reduced_precision_reduction
    settings.allow_bf16_reduced_precision_reduction = False
    try:
        yield
    finally:
        settings.allow_bf16_reduced_precision_reduction = before


@contextlib.contextmanager
def _the_other_library():
    before = torch.backends.cuda.preferred_blas_library()
    is_lt = before.name.lower() == "cublaslt"
    torch.backends.cuda.preferred_blas_library("cublas" if is_lt else "cublaslt")
    try:
        yield
    finally:
        torch.backends.cuda.preferred_blas_library(before)


OTHERS = {"cuBLAS, partial sums in fp32": _partial_sums_in_fp32,
          "cuBLAS by torch's other library": _the_other_library}


def inputs_of(decoder: Decoder, phase: Phase, steps: int) -> list[tuple[torch.Tensor, int]]:
    """Tokens and their positions: in decode those that the plain model finds greedily after a
    prompt, which all ways are given, so that they do not drift apart; or as many prompts."""
    if phase.name == "prefill":
        return [(decoder.tokens(decoder.context), 0) for _ in range(steps)]
    first = decoder.context - steps
    ids = decoder.run(decoder.tokens(first), 0).argmax(-1, keepdim=True)
    inputs = []
    for position in range(first, decoder.context):
        inputs.append((ids, position))
        ids = decoder.run(ids, position).argmax(-1, keepdim=True)
    return inputs


def differences(ours: list[torch.Tensor], theirs: list[torch.Tensor]) -> dict:
    """By which logits differ, over all steps."""
    found = [difference(*of_step) for of_step in zip(ours, theirs)]
    squares = [one["rms"] ** 2 for one in found]
    return {"max": max(one["max"] for one in found),
            "rms": (sum(squares) / len(squares)) ** 0.5,
            "equal_tokens": sum(one["equal_tokens"] for one in found),
            "tokens": sum(one["tokens"] for one in found)}


def agreement(plain: Decoder, patched: Decoder, phase: Phase, steps: int) -> dict:
    """How far each is off the plain model, and off the same weights in fp32; and the size of the
    plain model's logits."""
    inputs = inputs_of(plain, phase, steps)

    def logits_of(decoder: Decoder) -> list[torch.Tensor]:
        return [decoder.run(ids, position) for ids, position in inputs]

    expected, exact = logits_of(plain), logits_of(plain.in_fp32())

    def compared(decoder: Decoder) -> dict:
        ours = logits_of(decoder)
        return {**differences(ours, expected), "fp32": differences(ours, exact)}

    off = {"plain": compared(plain), "patched": compared(patched)}
    if torch.version.cuda is not None:
        for name, otherwise in OTHERS.items():
            with otherwise():
                off[name] = compared(plain)
    squares = torch.stack([one.float().square().mean() for one in expected])
    return {"logits_rms": squares.mean().sqrt().item(), "off": off}
