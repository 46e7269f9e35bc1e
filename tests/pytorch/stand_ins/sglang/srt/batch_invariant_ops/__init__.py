_batch_invariant_MODE = False


def is_batch_invariant_mode_enabled():
    return _batch_invariant_MODE
