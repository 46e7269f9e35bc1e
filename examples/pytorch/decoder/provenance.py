"""With what something was measured: machine, software and kernels."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import time

import hgemm_tune
import torch


def environment(device: str) -> dict[str, str]:
    driver = "none"
    if device == "cuda" and shutil.which("nvidia-smi"):
        command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        asked = subprocess.run(command, capture_output=True, text=True, check=False)
        driver = asked.stdout.split("\n")[0].strip() or "unknown"
    return {"gpu": torch.cuda.get_device_name() if device == "cuda" else "none (CPU)",
            "driver": driver, "torch": torch.__version__, "cuda": str(torch.version.cuda)}


def kernels_of(bundle: hgemm_tune.Bundle) -> str:
    manifest, digest = bundle.manifest, hashlib.sha256(bundle.path.read_bytes()).hexdigest()
    return (f"{len(bundle.rows)} shapes tuned on {bundle.valid_for['gpu']}, {manifest['regime']}, "
            f"PDL {manifest['pdl']}, by hgemm-tune {bundle.valid_for['hgemm_tune']}; "
            f"SHA-256 {digest[:12]}")


def today() -> str:
    return time.strftime("%Y-%m-%d", time.gmtime())
