"""Bundles: compiled kernels and their table in one file (`hgemm-tune export --format bundle`)."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .command import HgemmTuneError

LIBRARIES = Path(__file__).resolve().parent / "lib"
SHIPPED = Path(__file__).resolve().parent / "shipped"

_ABI = 1  # HGEMM_BUNDLE_ABI of hgemm_bundle.h, and below its flags and a status
_ANY_GPU, _ANY_DRIVER = 1, 2
_SMALL_BUFFER = 44


_REINSTALL = "install the package again: pip install --force-reinstall hgemm-tune"


def library(name: str, abi_function: str, abi: int) -> ctypes.CDLL:
    """A shared library of this package, whose function must return this number."""
    try:
        loaded = ctypes.CDLL(str(LIBRARIES / name))
    except OSError as error:
        raise HgemmTuneError(f"{error}; {_REINSTALL}") from error
    try:
        is_same = getattr(loaded, abi_function)() == abi
    except AttributeError:
        is_same = False
    if not is_same:
        raise HgemmTuneError(f"{LIBRARIES / name} is of another version than this package; "
                             f"{_REINSTALL}")
    return loaded


class _Runtime:
    """libhgemm_tune.so, loaded at first use."""

    _loaded: ctypes.CDLL | None = None

    @classmethod
    def get(cls) -> ctypes.CDLL:
        if cls._loaded is None:
            loaded = library("libhgemm_tune.so", "hgemm_bundle_abi", _ABI)
            pointer, size = ctypes.c_void_p, ctypes.c_size_t
            for name, arguments, result in (
                    ("error", [], ctypes.c_char_p),
                    ("open", [ctypes.c_char_p, ctypes.POINTER(pointer)], ctypes.c_int),
                    ("close", [pointer], None),
                    ("manifest", [pointer], ctypes.c_char_p),
                    ("prepare", [pointer, ctypes.c_int, ctypes.c_uint], ctypes.c_int),
                    ("misses", [pointer, ctypes.c_char_p, size, ctypes.POINTER(size)],
                     ctypes.c_int)):
                function = getattr(loaded, f"hgemm_bundle_{name}")
                function.argtypes, function.restype = arguments, result
            cls._loaded = loaded
        return cls._loaded


def library_beside_runtime(name: str, abi_function: str, abi: int) -> ctypes.CDLL:
    """A library of this package that is linked with libhgemm_tune.so, and shares bundles with it.

    The runtime comes first: what is loaded already is taken before what LD_LIBRARY_PATH has.
    """
    runtime = _Runtime.get()
    loaded = library(name, abi_function, abi)
    own, linked = (ctypes.cast(of.hgemm_bundle_open, ctypes.c_void_p).value
                   for of in (runtime, loaded))
    if own != linked:
        raise HgemmTuneError("this process has loaded another libhgemm_tune.so than "
                             f"{LIBRARIES / 'libhgemm_tune.so'}: import hgemm_tune.pytorch before "
                             "what loads it, or let that use this one")
    return loaded


def _failed() -> HgemmTuneError:
    return HgemmTuneError(os.fsdecode(_Runtime.get().hgemm_bundle_error()))


class Bundle:
    """An open bundle; `load` opens one.

    It stays open until `close`, even if nothing refers to it any more: CUDA graphs may have been
    captured with its kernels.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._handle: int | None = None
        #: only while torch.ops.hgemm_tune takes kernels from it: adds the misses that Python counted
        self._tell_misses: Callable[[], None] | None = None
        #: where it was read from
        self.path = Path(path)
        handle = ctypes.c_void_p()
        if _Runtime.get().hgemm_bundle_open(os.fsencode(path), ctypes.byref(handle)) != 0:
            raise _failed()
        self._handle = handle.value
        #: everything that the file says of itself; docs/exporting.md has the fields
        self.manifest: dict[str, Any] = json.loads(
            _Runtime.get().hgemm_bundle_manifest(self._handle))

    @property
    def valid_for(self) -> dict[str, Any]:
        """GPU, drivers and CUDA for which its kernels were chosen."""
        return self.manifest["valid_for"]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The tuned problems: of each its kernel, time, ratio to cuBLAS and `gain`."""
        return self.manifest["rows"]

    @property
    def batch_invariant(self) -> bool:
        """Whether its kernels give a row the same bits whatever the number of rows is."""
        return self.manifest.get("batch_invariant", False)  # bundles of schema 1 do not say it

    @property
    def handle(self) -> int:
        if self._handle is None:
            raise HgemmTuneError(f"{self.path}: the bundle is closed")
        return self._handle

    def prepare(self, device: int = 0, *, any_gpu: bool = False, any_driver: bool = False) -> None:
        """Loads all kernels on a CUDA device. To be called before a graph is captured there.

        Raises HgemmTuneError if the bundle was made for another GPU or driver. With `any_gpu` or
        `any_driver` it is taken nevertheless: results are right, but which kernel is the fastest
        was measured elsewhere.
        """
        flags = (_ANY_GPU if any_gpu else 0) | (_ANY_DRIVER if any_driver else 0)
        if _Runtime.get().hgemm_bundle_prepare(self.handle, device, flags) != 0:
            raise _failed()

    def misses(self) -> str:
        """The products that were asked for and had no kernel, with counts, as YAML.

        As a file it is what `hgemm-tune --misses` reads.
        """
        if self._tell_misses is not None:
            self._tell_misses()
        needed = ctypes.c_size_t()
        text = ctypes.create_string_buffer(1 << 16)
        while True:
            status = _Runtime.get().hgemm_bundle_misses(self.handle, text, len(text),
                                                        ctypes.byref(needed))
            if status == 0:
                return os.fsdecode(text.value)
            if status != _SMALL_BUFFER:
                raise _failed()
            text = ctypes.create_string_buffer(2 * needed.value)  # more may be missed meanwhile

    def close(self) -> None:
        """Unloads its kernels. Graphs that were captured with them must not run any more."""
        if self._tell_misses is not None:
            raise HgemmTuneError(f"{self.path}: torch.ops.hgemm_tune takes kernels from it; call "
                                 "hgemm_tune.use(None) first")
        if self._handle is not None:
            _Runtime.get().hgemm_bundle_close(self._handle)
            self._handle = None

    def __enter__(self) -> Bundle:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<hgemm_tune.Bundle {self.path}: {len(self.rows)} problems>"


def load(path: str | os.PathLike[str]) -> Bundle:
    """Opens a bundle and checks every byte of it. Needs neither a GPU nor torch."""
    return Bundle(path)


def shipped(gpu: str) -> Bundle:
    """Opens the bundle that came with this package for GPUs of this name, such as "NVIDIA H200".

    It has the linear layers of Llama-3-8B, Qwen2.5-7B and Mistral-7B (configs/shapes/tokens.yaml).
    Raises HgemmTuneError if there is none.
    """
    names = []
    for path in sorted(SHIPPED.glob("*.hgb")):
        bundle = Bundle(path)
        if bundle.valid_for["gpu"] == gpu:
            return bundle
        names.append(bundle.valid_for["gpu"])
        bundle.close()
    raise HgemmTuneError(f"no bundle for {gpu} came with this package, only for "
                         f"{', '.join(names) or 'no GPU'}: tune and export one, and load() it")
