"""What can be chosen by name. Needs neither torch nor a GPU."""

from __future__ import annotations

from typing import NamedTuple


class Failed(Exception):
    """The text says what to do next."""


class Way(NamedTuple):
    """To run a model."""

    patched: bool
    compiled: bool


WAYS = {"plain": Way(False, False), "compiled": Way(False, True), "patched": Way(True, False),
        "patched-compiled": Way(True, True)}

#: What Transformers calls them. `unmasked` is registered by models.py.
ATTENTION = {"masked": "sdpa", "unmasked": "sdpa_unmasked"}
