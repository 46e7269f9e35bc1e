"""Times of functions in captured CUDA graphs, in turns."""

import math
import random

import torch

SAMPLE_US = 2000.0
SHARED_ROUNDS = 60
LEAD_IN_MS, OWN_MS, OWN_ROUNDS = 100.0, 300.0, 5
LIGHT_LOAD = 40.0  # FLOP per byte: above it the power cap may be met


class Candidate:
    """A graph of calls that rotate over all layers and inputs, and its times."""

    def __init__(self, layers, inputs):
        self.layers, self.inputs, self.us = layers, inputs, []
        self.capture(len(layers))
        self.graph.replay()
        us = self.timed(1)() / self.launches
        wanted = int(min(4096.0, SAMPLE_US / us))
        sets = len(layers)
        self.capture(max(sets, math.ceil(wanted / sets) * sets))
        self.graph.replay()
        torch.cuda.synchronize()
        self.replay_us = us * self.launches

    def capture(self, launches: int) -> None:
        self.graph, self.launches = torch.cuda.CUDAGraph(), launches
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph, stream=torch.cuda.current_stream()):
            for i in range(launches):
                self.layers[i % len(self.layers)](self.inputs[i % len(self.inputs)])

    def replays_in(self, ms: float) -> int:
        return max(1, round(ms * 1e3 / self.replay_us))

    def timed(self, replays: int):
        """Enqueues them; returns what gives microseconds."""
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(replays):
            self.graph.replay()
        end.record()

        def us() -> float:
            end.synchronize()
            return start.elapsed_time(end) * 1e3

        return us


def time_in_turns(candidates: list[Candidate], heavy: bool) -> None:
    """Adds to the times of each candidate, one for each round. `heavy`: each runs alone until the
    clock has settled at its own power, because the power cap may be met."""
    for _ in range(candidates[-1].replays_in(1000 if heavy else 300)):  # to full load
        candidates[-1].graph.replay()
    rounds = []
    for _ in range(OWN_ROUNDS if heavy else SHARED_ROUNDS):
        times = {}
        for candidate in random.sample(candidates, len(candidates)):
            if heavy:
                for _ in range(candidate.replays_in(LEAD_IN_MS)):
                    candidate.graph.replay()
            replays = candidate.replays_in(OWN_MS) if heavy else 1
            times[candidate] = (candidate.timed(replays), replays)
        rounds.append(times)
    for times in rounds:
        for candidate, (us, replays) in times.items():
            candidate.us.append(us() / (candidate.launches * replays))


def ratios(theirs: Candidate, ours: Candidate) -> list[float]:
    """Their time over ours, by round."""
    return [their_us / our_us for their_us, our_us in zip(theirs.us, ours.us)]


def interval(values: list[float]) -> tuple[float, float]:
    """95 % of the median, by order statistics; of few values their range."""
    values, n = sorted(values), len(values)
    low = max(0, math.floor(n / 2 - 0.98 * math.sqrt(n)))
    return values[low], values[n - 1 - low]
