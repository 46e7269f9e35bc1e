"""SGLang's plug-in: kernels of the bundle that HGEMM_TUNE_BUNDLE names compute unquantised linear
layers. pyproject.toml names register() to SGLang, which calls it in every process.

SGLang's registry wraps the method by which these layers multiply. It knows no way back: without
the variable nothing is registered.
"""

from __future__ import annotations

import importlib
import logging
import os
from types import ModuleType
from typing import Any

_MODULE = "sglang.srt.layers.quantization.unquant"
_METHOD = f"{_MODULE}.UnquantizedLinearMethod"

_log = logging.getLogger("sglang.hgemm_tune")
_serving: ModuleType | None = None
_unquant: ModuleType | None = None  # SGLang's, once a model is built


def register() -> None:
    """The plug-in: does nothing if the user named no bundle. It may be called again."""
    global _serving
    if not os.environ.get("HGEMM_TUNE_BUNDLE") or _serving is not None:
        return
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType

    # It defines the operator. If it cannot, SGLang logs why, and goes on without this plug-in.
    _serving = importlib.import_module(".serving", __package__)
    HookRegistry.register(f"{_METHOD}.create_weights", _before_weights, HookType.BEFORE)
    HookRegistry.register(f"{_METHOD}.apply", _around_apply, HookType.AROUND)


def _before_weights(*_: Any, **__: Any) -> None:
    """A model is built, so this process has chosen its GPU."""
    global _unquant
    _unquant = importlib.import_module(_MODULE)
    _serving.start("SGLang", _log)


def _around_apply(own: Any, method: Any, layer: Any, x: Any, bias: Any = None) -> Any:
    """SGLang computes what no kernel gains at, what --bf16-gemm-backend asks other kernels for,
    and everything if inference is to be deterministic."""
    if (_unquant is not None and _serving.takes(x, layer.weight, bias)
            and _unquant.get_bf16_gemm_backend().is_auto()
            and not _unquant.is_batch_invariant_mode_enabled()):
        return _serving.linear(layer, x, layer.weight, bias)
    return own(method, layer, x, bias)
