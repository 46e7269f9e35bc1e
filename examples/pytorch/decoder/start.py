"""The cold start of a process: python start.py MODEL LAYERS SCALE DEVICE [BUNDLE fused|unfused],
with a bundle patched. Prints seconds from the imports to the first token, and of the parts, as JSON."""

import json
import sys
import time
from pathlib import Path

began = time.perf_counter()
PROMPT_TOKENS = 8


def main() -> int:
    name, layers, scale, device = sys.argv[1:5]
    parts, last = {}, began

    def done(part: str) -> None:
        nonlocal last
        parts[part], last = time.perf_counter() - last, time.perf_counter()

    import torch

    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from decoder import models, shapes

    if device == "cuda":
        torch.cuda.init()
    done("imports")
    sizes = shapes.scaled(shapes.MODELS[name], int(scale), int(layers))
    with torch.no_grad():
        model = models.build(sizes, PROMPT_TOKENS + 1, device)
        if device == "cuda":
            torch.cuda.synchronize()
        done("weights")
        if sys.argv[5:]:
            import hgemm_tune

            path, fusion = sys.argv[5:]
            bundle = hgemm_tune.load(path)
            if device == "cuda":  # whether this machine will do, tokens.py has decided
                bundle.prepare(torch.cuda.current_device(), any_gpu=True, any_driver=True)
            hgemm_tune.patch(model, bundle, fuse=fusion == "fused")
            done("load and patch")
        decoder = models.Decoder(model, 1, PROMPT_TOKENS)
        decoder.run(decoder.tokens(PROMPT_TOKENS), 0).argmax(-1).item()
        done("first token")
    print(json.dumps({**parts, "total": sum(parts.values())}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
