#!/usr/bin/env python3
"""examples/peers/triton/gemm.py HEADER: compiles GEMM kernels in Triton for peer.cpp.

Nothing runs: no GPU is needed, and no PyTorch. The header has the cubins and how each is launched.
Triton 3.4 or later; tried with 3.4.0, 3.5.1 and 3.9.0.

A kernel that this Triton does not compile, or compiles to something that peer.cpp could not
launch, is named and left out.
"""

import os
import re
import sys

# Set before Triton is imported. Line tables would only make the cubins larger; the other one is
# Triton's default so far, and without it 3.9 warns.
os.environ.setdefault("TRITON_DISABLE_LINE_INFO", "1")
os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

SMEM_BYTES = 232448  # of one CTA on Hopper

# Columns: rows, columns and depth of a tile; warps; stages of the pipeline. One warp group cannot
# hold 128 x 256 sums: it spills.
PLAIN = [
    (128, 256, 64, 8, 3),
    (128, 256, 64, 8, 4),
    (256, 128, 64, 8, 3),
    (256, 128, 64, 8, 4),
    (128, 128, 64, 8, 4),
    (128, 128, 64, 4, 3),
    (128, 128, 128, 8, 3),
    (64, 256, 64, 4, 4),
    (64, 128, 64, 4, 4),
    (128, 64, 64, 4, 4),
    (64, 64, 128, 4, 4),
    (64, 32, 128, 4, 5),
    (64, 16, 128, 4, 5),
]
# The tile of D keeps its own shared memory here, because the next tile is loaded meanwhile.
PERSISTENT = [
    (128, 256, 64, 8, 3),
    (256, 128, 64, 8, 3),
    (128, 128, 64, 8, 4),
    (128, 128, 64, 4, 3),
    (64, 256, 64, 4, 4),
    (64, 128, 64, 4, 4),
]
# For a D whose rows do not begin at multiples of 16 bytes, which TMA cannot write. A register pair
# points to each value, so there is less room for sums.
UNALIGNED_D = [
    (128, 128, 64, 8, 4),
    (128, 64, 64, 4, 4),
    (64, 128, 64, 4, 4),
    (64, 64, 64, 4, 4),
]
# For an A or B of that kind, which TMA cannot read either. The values pass through registers.
UNALIGNED = [
    (128, 128, 32, 8, 3),
    (128, 64, 32, 4, 3),
    (64, 128, 32, 4, 3),
    (64, 64, 32, 4, 3),
]


@triton.jit
def tile_at(tile, m, n, group, TILE_M: tl.constexpr, TILE_N: tl.constexpr):
    """Row and column of a tile. `group` rows of tiles are computed together, column by column."""
    rows = tl.cdiv(m, TILE_M)
    tiles_of_group = group * tl.cdiv(n, TILE_N)
    first_row = tile // tiles_of_group * group
    height = tl.minimum(rows - first_row, group)
    inside = tile % tiles_of_group
    return (first_row + inside % height) * TILE_M, inside // height * TILE_N


@triton.jit
def load(matrix, leading, row, column, rows, columns, HEIGHT: tl.constexpr, WIDTH: tl.constexpr,
         TMA: tl.constexpr):
    """A tile of a row-major matrix; 0 outside."""
    if TMA:
        values = matrix.load([row, column])
    else:
        i = (row + tl.arange(0, HEIGHT))[:, None]
        j = (column + tl.arange(0, WIDTH))[None, :]
        values = tl.load(matrix + i * leading + j, mask=(i < rows) & (j < columns), other=0.0)
    return values


@triton.jit
def store(matrix, leading, row, column, rows, columns, sums, HEIGHT: tl.constexpr,
          WIDTH: tl.constexpr, TMA: tl.constexpr):
    if TMA:
        matrix.store([row, column], sums.to(matrix.dtype))
    else:
        i = (row + tl.arange(0, HEIGHT))[:, None]
        j = (column + tl.arange(0, WIDTH))[None, :]
        values = sums.to(matrix.dtype.element_ty)
        tl.store(matrix + i * leading + j, values, mask=(i < rows) & (j < columns))


@triton.jit
def sums_of(a, b, m, n, k, lda, ldb, row, column, TILE_M: tl.constexpr, TILE_N: tl.constexpr,
            TILE_K: tl.constexpr, TMA: tl.constexpr):
    sums = tl.zeros((TILE_M, TILE_N), tl.float32)
    for step in range(tl.cdiv(k, TILE_K)):
        of_a = load(a, lda, row, step * TILE_K, m, k, TILE_M, TILE_K, TMA)
        of_b = load(b, ldb, column, step * TILE_K, n, k, TILE_N, TILE_K, TMA)
        sums = tl.dot(of_a, of_b.T, sums)
    return sums


@triton.jit
def plain(a, b, d, m, n, k, lda, ldb, ldd, group, TILE_M: tl.constexpr, TILE_N: tl.constexpr,
          TILE_K: tl.constexpr, TMA_IN: tl.constexpr, TMA_OUT: tl.constexpr):
    """A program for each tile."""
    row, column = tile_at(tl.program_id(0), m, n, group, TILE_M, TILE_N)
    sums = sums_of(a, b, m, n, k, lda, ldb, row, column, TILE_M, TILE_N, TILE_K, TMA_IN)
    store(d, ldd, row, column, m, n, sums, TILE_M, TILE_N, TMA_OUT)


@triton.jit
def persistent(a, b, d, m, n, k, lda, ldb, ldd, group, TILE_M: tl.constexpr,
               TILE_N: tl.constexpr, TILE_K: tl.constexpr, TMA_IN: tl.constexpr,
               TMA_OUT: tl.constexpr):
    """As many programs as the GPU holds, each with several tiles. `flatten` makes one pipelined
    loop of both loops: the first loads of a tile overlap with the end of the one before."""
    tiles = tl.cdiv(m, TILE_M) * tl.cdiv(n, TILE_N)
    # Counted apart from `tile`, so that the pipeline need not carry the place of the tile that it
    # stores through the loads of the next one.
    stored = tl.program_id(0) - tl.num_programs(0)
    for tile in tl.range(tl.program_id(0), tiles, tl.num_programs(0), flatten=True):
        row, column = tile_at(tile, m, n, group, TILE_M, TILE_N)
        sums = sums_of(a, b, m, n, k, lda, ldb, row, column, TILE_M, TILE_N, TILE_K, TMA_IN)
        stored += tl.num_programs(0)
        row, column = tile_at(stored, m, n, group, TILE_M, TILE_N)
        store(d, ldd, row, column, m, n, sums, TILE_M, TILE_N, TMA_OUT)


class Unusable(Exception):
    pass


def kinds_of_parameters(ptx):
    """A letter for each parameter of the only kernel: T is a tensor map, i has 4 bytes, l 8."""
    signature = re.search(r"\.entry\s+\w+\s*\((.*?)\)", ptx, re.DOTALL).group(1)
    letters = ""
    for line in signature.split(","):
        array = re.search(r"\[(\d+)\]", line)
        if array:
            letters += "T" if array.group(1) == "128" else "?"
        else:
            width = re.search(r"\.param\s+\.[a-z](\d+)", line).group(1)
            letters += {"32": "i", "64": "l"}.get(width, "?")
    return letters


def compiled(kernel, element, tile, tma_in, tma_out):
    """The cubin and the row of the table, without the cubin's name."""
    tile_m, tile_n, tile_k, warps, stages = tile
    boxes = {"a": (tile_m, tile_k), "b": (tile_n, tile_k), "d": (tile_m, tile_n)}
    is_tma = {"a": tma_in, "b": tma_in, "d": tma_out}
    signature, attributes = {}, {}
    for index, (name, box) in enumerate(boxes.items()):
        if is_tma[name]:
            signature[name] = f"tensordesc<{element}[{box[0]}, {box[1]}]>"
        else:
            signature[name] = f"*{element}"
            attributes[(index,)] = [["tt.divisibility", 16]]
    signature |= {name: "i32" for name in ("m", "n", "k")}
    signature |= {name: "i64" for name in ("lda", "ldb", "ldd")}
    signature["group"] = "i32"
    constants = {"TILE_M": tile_m, "TILE_N": tile_n, "TILE_K": tile_k, "TMA_IN": tma_in,
                 "TMA_OUT": tma_out}
    signature |= {name: "constexpr" for name in constants}
    result = triton.compile(ASTSource(kernel, signature, constants, attributes),
                            target=GPUTarget("cuda", 90, 32),
                            options={"num_warps": warps, "num_stages": stages})
    meta = result.metadata
    if meta.shared > SMEM_BYTES:
        raise Unusable(f"needs {meta.shared} bytes of shared memory")
    if meta.global_scratch_size or getattr(meta, "profile_scratch_size", 0):
        raise Unusable("needs scratch memory")

    # A tensor map comes with the shape and the strides. Pointers to scratch memory follow, one or
    # two by the version of Triton; they are null here.
    known = "".join("Tiill" if used else "l" for used in is_tma.values()) + "iiillli"
    found = kinds_of_parameters(result.asm["ptx"])
    hidden = len(found) - len(known)
    if found != known + "l" * hidden:
        raise Unusable(f"has parameters {found}, and the peer knows {known}")
    if not re.search(r"wgmma\.mma_async", result.asm["ptx"]):
        raise Unusable("does not use wgmma")

    maps = list(getattr(meta, "tensordesc_meta", None) or [])
    boxed = []
    for name in boxes:
        box = maps.pop(0) if is_tma[name] else None
        boxed.append("{%d, %d, %d}" % (*box["block_size"], box["swizzle"]) if box else "{}")
    row = (f'"{meta.name}", {tile_m}, {tile_n}, {tile_k}, {meta.num_warps}, {stages}, '
           f"{meta.shared}, {hidden}, {{{{{', '.join(boxed)}}}}}")
    return result.asm["cubin"], row


def literal(data):
    lines = (data[at:at + 32] for at in range(0, len(data), 32))
    return "\n".join('"' + "".join(f"\\{byte:03o}" for byte in line) + '"' for line in lines)


def main():
    chosen = [(plain, tile, True, True) for tile in PLAIN]
    chosen += [(persistent, tile, True, True) for tile in PERSISTENT]
    chosen += [(plain, tile, True, False) for tile in UNALIGNED_D]
    chosen += [(plain, tile, False, False) for tile in UNALIGNED]
    cubins, rows = [], []
    for element, name in (("bf16", "HGEMM_PEER_BF16"), ("fp16", "HGEMM_PEER_FP16")):
        for kernel, tile, tma_in, tma_out in chosen:
            text = f"{element} {kernel.__name__} {'x'.join(map(str, tile[:3]))}"
            try:
                cubin, row = compiled(kernel, element, tile, tma_in, tma_out)
            except Exception as error:  # Triton has no class of its own for them
                print(f"{text}: left out: {error}", file=sys.stderr)
                continue
            rows.append(f"    {{{name}, {row}, kCubin{len(cubins)}}},")
            cubins.append(f"alignas(64) constexpr char kCubin{len(cubins)}[] =\n{literal(cubin)};")
    if not rows:
        sys.exit(f"Triton {triton.__version__} compiled none of the kernels")
    with open(sys.argv[1], "w") as header:
        print(f"// Written by gemm.py.\nconstexpr const char* kTriton = \"{triton.__version__}\";",
              *cubins, "const Kernel kKernels[] = {", *rows, "};", sep="\n", file=header)
    print(f"{len(rows)} kernels, Triton {triton.__version__}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
