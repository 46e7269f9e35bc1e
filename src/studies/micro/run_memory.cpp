// Microbenchmarks of data that comes to an SM from outside: TMA, bulk copies, loads, a peer's
// shared memory, barriers.
#include <algorithm>
#include <cmath>

#include "base/statistics.h"
#include "device/data_kernels.h"
#include "studies/micro/run_kernel.h"

namespace hgemm {
namespace {

/// Bytes that a CTA should get in about 250,000 cycles with so many in flight: by Little's law,
/// limited by an SM's share of the bandwidth. For a source in HBM at most a third of the CTA's part
/// of it.
double expected_bytes(double in_flight_bytes, MemoryLevel level) {
  const bool l2 = level == MemoryLevel::kL2;
  const double bytes_per_clk = std::min(in_flight_bytes / (l2 ? 800.0 : 1300.0), l2 ? 50.0 : 20.0);
  return std::min(bytes_per_clk * 250'000, l2 ? 1e8 : 2.5e6);
}

/// Lengths of sections of about `bytes`, in whole multiples of `unit` rounds.
micro::Lengths lengths_for(double bytes, double round_bytes, int unit) {
  const int multiples = std::max(10, static_cast<int>(bytes / round_bytes / unit));
  return {{multiples / 5 * unit, multiples / 5 * unit, multiples * unit}};
}

int rounds_of(const micro::Lengths& lengths) {
  return lengths.count[0] + lengths.count[1] + lengths.count[2];
}

/// Results of streaming kernels: bytes that arrive in an SM per cycle, and the bandwidth of all
/// SMs.
class Throughput {
 public:
  void add(const SectionTimes& times, const micro::Lengths& lengths, double arriving_per_round,
           double read_per_round, int ctas) {
    bytes_per_clk_.push_back(1 / cycles_per_operation(times, 1, lengths, arriving_per_round));
    bandwidths_.push_back(read_per_round * lengths.count[micro::kLong] * ctas /
                          times.ns(micro::kLong) * 1e-3);
  }
  std::vector<Figure> figures() const {
    return {figure("bytes_per_clk", "B/clk/SM", bytes_per_clk_),
            figure("bandwidth", "TB/s", bandwidths_)};
  }

 private:
  std::vector<double> bytes_per_clk_, bandwidths_;
};

struct Copying {
  MemoryLevel level;
  MicroPace pace;
  micro::CopyParams params;  ///< without times, lengths and start
};

/// Measures TMA and bulk copies; bulk copies ignore the tensor map.
MicroOutcome run_copies(const MicroPoint& point, const Copying& copying,
                        const TensorMap& tensor_map, const MicroTask& task) {
  micro::CopyParams params = copying.params;
  TensorMap map = tensor_map;
  const bool latency = copying.pace == MicroPace::kLatency;
  MicroLaunch launch{
      .ctas = params.cluster,
      .threads = 64,
      .cluster = params.cluster,
      .smem_bytes = micro::copy_smem_bytes(params.item_bytes, params.in_flight, params.cluster)};
  const MicroKernel kernel(task.cubin, micro_kernel(point), launch.smem_bytes);
  if (!latency) launch.ctas = kernel.resident_ctas(launch, task.bench.device.sm_count);

  const double arriving = double{1} * params.item_bytes * params.cluster;
  params.lengths =
      latency
          ? micro::Lengths{{16, 16, 128}}
          : lengths_for(expected_bytes(arriving * params.in_flight, copying.level) / params.cluster,
                        params.item_bytes, params.in_flight);
  const unsigned items = params.walk.rows * params.walk.columns;
  params.walk.chunk = items / static_cast<unsigned>(launch.ctas);
  SectionTimes times(launch.ctas, 1);
  const auto latencies =
      DeviceMemory(static_cast<std::size_t>(params.lengths.count[micro::kLong]) * sizeof(unsigned));
  params.times = times.device();
  params.latencies_clk = latencies.as<unsigned>();

  Throughput throughput;
  std::vector<double> medians;
  for (int repetition = -1; repetition < kMicroRepetitions; ++repetition) {
    // Continues where the launch before ended, so that a source in HBM is read again only after all
    // of it was.
    const auto moved = static_cast<unsigned>((repetition + 1) * rounds_of(params.lengths));
    params.walk.first = latency ? moved * 7 % items : moved % items;
    void* arguments[] = {&map, &params};
    kernel.run(launch, arguments, task.bench.stream);
    times.read();
    if (repetition < 0) continue;
    if (latency) {
      const auto clks = read_back<unsigned>(
          latencies, static_cast<std::size_t>(params.lengths.count[micro::kLong]));
      medians.push_back(median(std::vector<double>(clks.begin(), clks.end())));
    } else {
      throughput.add(times, params.lengths, arriving, params.item_bytes, launch.ctas);
    }
  }
  if (latency) return {{figure("latency", "clk", medians)}, ""};
  return {throughput.figures(), ""};
}

}  // namespace

MicroOutcome measure(const TmaPoint& point, const MicroTask& task) {
  const MicroSource source = make_source(point.level, task);
  Copying copying{point.level, point.pace, {}};
  micro::CopyParams& params = copying.params;
  params.walk.rows = static_cast<unsigned>(source.bytes / (kSourceColumns * 2) / point.box_rows);
  params.walk.columns = static_cast<unsigned>(kSourceColumns / point.box_columns);
  // Steps along K, as a main loop does; with one copy at a time, steps to other rows too.
  params.walk.step_rows = point.pace == MicroPace::kLatency ? 1 : 0;
  params.walk.step_columns = 1;
  params.box_rows = point.box_rows;
  params.box_columns = point.box_columns;
  params.item_bytes = point.box_rows * point.box_columns * 2;
  params.in_flight = point.in_flight;
  params.cluster = point.multicast;
  return run_copies(point, copying,
                    source_map(source, point.box_rows, point.box_columns, point.swizzle), task);
}

MicroOutcome measure(const BulkPoint& point, const MicroTask& task) {
  const MicroSource source = make_source(point.level, task);
  Copying copying{point.level, point.pace, {}};
  micro::CopyParams& params = copying.params;
  params.source = source.memory.data();
  params.walk.rows = 1;
  params.walk.columns = static_cast<unsigned>(source.bytes / point.bytes);
  params.walk.step_columns = point.pace == MicroPace::kLatency ? 65 : 1;
  params.item_bytes = point.bytes;
  params.in_flight = point.in_flight;
  params.cluster = 1;
  return run_copies(point, copying, TensorMap{}, task);
}

MicroOutcome measure(const ReadPoint& point, const MicroTask& task) {
  const MicroSource source = make_source(point.level, task);
  MicroLaunch launch{.threads = point.threads};
  const MicroKernel kernel(task.cubin, micro_kernel(point), 0);
  launch.ctas = kernel.resident_ctas(launch, task.bench.device.sm_count);
  const int round_bytes = point.threads * point.unroll * 16;
  SectionTimes times(launch.ctas, 1);
  const DeviceMemory sink(static_cast<std::size_t>(launch.ctas * point.threads) * sizeof(unsigned));
  micro::ReadParams params{};
  params.source = source.memory.data();
  params.times = times.device();
  params.sink = sink.as<unsigned>();
  params.lengths = lengths_for(expected_bytes(round_bytes, point.level), round_bytes, 1);
  const auto round = static_cast<unsigned long long>(round_bytes);
  params.bytes = static_cast<unsigned long long>(source.bytes) / round * round;
  // Each CTA starts at other lines: if SMs ask for the same line at the same time, one read serves
  // all (104 B/clk each, although L2 delivers 37).
  params.chunk = std::max(round, params.bytes / static_cast<unsigned>(launch.ctas) / round * round);

  Throughput throughput;
  for (int repetition = -1; repetition < kMicroRepetitions; ++repetition) {
    params.first =
        static_cast<unsigned long long>((repetition + 1) * rounds_of(params.lengths)) * round;
    void* arguments[] = {&params};
    kernel.run(launch, arguments, task.bench.stream);
    times.read();
    if (repetition >= 0) {
      throughput.add(times, params.lengths, round_bytes, round_bytes, launch.ctas);
    }
  }
  return {throughput.figures(), ""};
}

MicroOutcome measure(const StreamPoint& point, const MicroTask& task) {
  // Each launch of a graph reads bytes of its own, far more than L2 holds in all.
  constexpr std::int64_t kLeastBytes = 1 << 30;
  constexpr int kFewestLaunches = 8;
  constexpr int kReplays = 4;  ///< between two events, whose own cost is that of one launch or two
  const std::int64_t bytes = std::int64_t{point.kib} * 1024;
  const int launches =
      std::max(kFewestLaunches, static_cast<int>((kLeastBytes + bytes - 1) / bytes));
  const DeviceMemory source(static_cast<std::size_t>(bytes * launches));
  fill_normal(source.data(), bytes * launches / 2, DataType::kBf16, 1.0f, task.request.seed, 0,
              task.bench.stream.get());
  const DeviceMemory sink(sizeof(unsigned));

  MicroLaunch launch{.threads = point.threads, .overlaps = point.pdl};
  const MicroKernel kernel(task.cubin, micro_kernel(point), 0);
  launch.ctas = task.bench.device.sm_count;
  const Graph graph = Graph::capture(task.bench.stream, [&] {
    for (int i = 0; i < launches; ++i) {
      micro::StreamParams params{source.as<unsigned char>() + bytes * i, sink.as<unsigned>(),
                                 static_cast<unsigned long long>(bytes / 16)};
      void* arguments[] = {&params};
      kernel.enqueue(launch, arguments, task.bench.stream);
    }
  });
  std::vector<double> times_us, bandwidths;
  Event start, stop;
  for (int repetition = -1; repetition < kMicroRepetitions; ++repetition) {
    start.record(task.bench.stream);
    for (int replay = 0; replay < kReplays; ++replay) graph.launch(task.bench.stream);
    stop.record(task.bench.stream);
    stop.synchronize();
    if (repetition < 0) continue;
    times_us.push_back(stop.us_since(start) / (kReplays * launches));
    bandwidths.push_back(static_cast<double>(bytes) / times_us.back() * 1e-6);
  }
  return {{figure("time", "us", times_us), figure("bandwidth", "TB/s", bandwidths)}, ""};
}

namespace {

/// Runs a kernel that takes ClusterParams, in clusters of two; returns cycles per operation.
std::vector<double> run_cluster(const MicroPoint& point, const MicroTask& task, MicroLaunch launch,
                                bool everywhere, int timed_ctas, micro::Lengths lengths,
                                SmemOwner owner, double operations_per_round) {
  const MicroKernel kernel(task.cubin, micro_kernel(point), launch.smem_bytes);
  launch.cluster = 2;
  launch.ctas = everywhere ? kernel.resident_ctas(launch, task.bench.device.sm_count) : 2;
  SectionTimes times(timed_ctas > 0 ? timed_ctas : launch.ctas, 1);
  const DeviceMemory sink(static_cast<std::size_t>(launch.ctas * launch.threads) *
                          sizeof(unsigned));
  micro::ClusterParams params{times.device(), sink.as<unsigned>(), lengths,
                              owner == SmemOwner::kPeer ? 1 : 0};
  std::vector<double> cycles;
  for (int repetition = -1; repetition < kMicroRepetitions; ++repetition) {
    void* arguments[] = {&params};
    kernel.run(launch, arguments, task.bench.stream);
    times.read();
    if (repetition >= 0) {
      cycles.push_back(cycles_per_operation(times, 1, lengths, operations_per_round));
    }
  }
  return cycles;
}

}  // namespace

MicroOutcome measure(const MbarrierPoint& point, const MicroTask& task) {
  // Only CTA 0 takes times.
  const auto cycles =
      run_cluster(point, task, {.threads = 64}, false, 1, {{200, 200, 2000}}, point.owner, 1);
  return {{figure("round_trip", "clk", cycles)}, ""};
}

MicroOutcome measure(const SmemPoint& point, const MicroTask& task) {
  const bool latency = point.pace == MicroPace::kLatency;
  const MicroLaunch launch{.threads = point.threads, .smem_bytes = micro::kDsmemBytes};
  if (latency) {
    const auto cycles = run_cluster(point, task, launch, false, 0, {{50, 50, 500}}, point.owner,
                                    micro::kChasesPerRound);
    return {{figure("latency", "clk", cycles)}, ""};
  }
  const double round_bytes = 16.0 * micro::kDsmemLoadsPerRound * point.threads;
  auto rates =
      run_cluster(point, task, launch, true, 0, {{200, 200, 2000}}, point.owner, round_bytes);
  for (double& rate : rates) rate = 1 / rate;
  return {{figure("bytes_per_clk", "B/clk/SM", rates)}, ""};
}

}  // namespace hgemm
