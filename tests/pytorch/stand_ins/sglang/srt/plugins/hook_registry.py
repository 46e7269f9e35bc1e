import functools
import pkgutil
from collections import defaultdict
from enum import Enum


class HookType(Enum):
    BEFORE = "before"
    AFTER = "after"
    AROUND = "around"
    REPLACE = "replace"


class HookRegistry:
    _hooks = defaultdict(list)
    _patched = set()

    @classmethod
    def register(cls, target, hook, hook_type=HookType.AFTER, *, source=None):
        cls._hooks[target].append((hook_type, hook, source))

    @classmethod
    def apply_hooks(cls):
        for target, hooks in cls._hooks.items():
            if target in cls._patched:
                continue
            parent, name = target.rsplit(".", 1)
            owner = pkgutil.resolve_name(parent)
            for hook_type, hook, _ in hooks:
                setattr(owner, name, _wrap_fn(getattr(owner, name), hook, hook_type))
            cls._patched.add(target)


def _wrap_fn(original_fn, hook, hook_type):
    @functools.wraps(original_fn)
    def before(*args, **kwargs):
        result = hook(*args, **kwargs)
        if result is not None:
            args, kwargs = result
        return original_fn(*args, **kwargs)

    @functools.wraps(original_fn)
    def around(*args, **kwargs):
        return hook(original_fn, *args, **kwargs)

    return {HookType.BEFORE: before, HookType.AROUND: around}[hook_type]
