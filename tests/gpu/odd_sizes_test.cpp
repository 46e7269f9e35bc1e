// Any M, N, K, layout, epilogue, batch, leading dimension and address: thousands of random draws,
// each with fresh data.
#include <cmath>
#include <random>

#include "device/data_kernels.h"
#include "device/epilogue_kernels.h"
#include "device/loaded_kernel.h"
#include "device/problem_data.h"
#include "families/family.h"
#include "support.h"

namespace hgemm::testing {
namespace {

constexpr int kMostExtent = 700;
constexpr int kMostBatchExtent = 150;  ///< so that the largest batch has room where others have
constexpr int kMostProducts = 4;
constexpr int kMostPadding = 24;
constexpr int kMostOffset = 8;
constexpr std::int64_t kGuardRows = 8;

/// A problem in buffers that are larger than any, where each matrix begins anywhere.
struct Draw {
  GemmProblem problem;
  std::int64_t a_offset = 0, b_offset = 0, d_offset = 0;  ///< elements; C and the bias have D's
  bool in_place = false;                                  ///< D is C
};

class Draws {
 public:
  explicit Draws(std::uint32_t seed) : random_(seed) {}

  /// A third are packed, a third have rows of whole units, and a third anything.
  Draw next(const GemmKind& types) {
    Draw draw;
    GemmProblem& problem = draw.problem;
    const int kind = types.by_pointers ? 1 : up_to(2);  // no launch packs those
    const int most = types.batched ? kMostBatchExtent : kMostExtent;
    problem = {.m = extent(most), .n = extent(most), .k = extent(most), .tag = ""};
    if (is_gated(types)) problem.n = std::max<std::int64_t>(2, problem.n / 2 * 2);
    problem.a_type = problem.b_type = types.input;
    problem.d_type = types.output;
    problem.layout = layout_of(types);
    problem.epilogue = types.epilogue;
    if (types.adds_c) problem.c_type = types.output;
    draw.in_place = types.adds_c && up_to(1) == 1;
    const auto leading = [&](std::int64_t length) -> std::int64_t {
      if (kind == 0) return length;
      const std::int64_t any = length + up_to(kMostPadding - 8);
      return kind == 1 ? (any + 7) / 8 * 8 : any;
    };
    problem.lda = leading(problem.contiguous_a());
    problem.ldb = leading(problem.contiguous_b());
    problem.ldd = leading(problem.contiguous_d());
    problem.by_pointers = types.by_pointers;
    if (types.by_pointers) problem.batch = 2 + up_to(kMostProducts - 2);
    if (types.batched && !types.by_pointers) place_products(problem, kind);
    if (kind != 1) {
      draw.a_offset = up_to(kMostOffset - 1);
      draw.b_offset = up_to(kMostOffset - 1);
      draw.d_offset = up_to(kMostOffset - 1);
    }
    return draw;
  }
  std::size_t index(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_);
  }
  /// Any types, layout and epilogue, or batch.
  GemmProblem kind() {
    GemmProblem problem{.m = 1, .n = 1, .k = 1, .layout = static_cast<Layout>(up_to(3)), .tag = ""};
    problem.set_types(up_to(1) == 0 ? DataType::kBf16 : DataType::kFp16);
    if (up_to(2) == 0) problem.d_type = DataType::kFp32;
    if (up_to(2) == 0) problem.c_type = problem.d_type;
    problem.epilogue = {static_cast<Bias>(up_to(2)), static_cast<Activation>(up_to(4))};
    problem.epilogue.scaled = up_to(2) == 0;
    problem.epilogue.aux = problem.epilogue.activation != Activation::kNone && up_to(2) == 0;
    const int other = up_to(7);
    if (other < 2) {
      problem.batch = kMostProducts;
      problem.by_pointers = up_to(1) == 1;
      problem.c_type = std::nullopt;
      problem.epilogue = {.scaled = other == 1};
    } else if (other < 4) {
      problem.layout = up_to(1) == 0 ? Layout::kTN : Layout::kNN;
      problem.c_type = std::nullopt;
      problem.epilogue.bias = Bias::kNone;
      problem.epilogue.scaled = problem.epilogue.aux = false;
      problem.epilogue.gate = up_to(1) == 0 ? Gate::kHalves : Gate::kInterleaved;
      problem.n = 2;
    }
    return problem;
  }

 private:
  static Layout layout_of(const GemmKind& kind) {
    if (kind.a_major == Major::kK) return kind.b_major == Major::kK ? Layout::kTN : Layout::kTT;
    return kind.b_major == Major::kK ? Layout::kNN : Layout::kNT;
  }
  int up_to(int most) { return std::uniform_int_distribution<int>(0, most)(random_); }
  /// Small ones as often as large ones.
  int extent(int largest) {
    const int most = 1 << (1 + up_to(9));
    return 1 + up_to(std::min(most, largest) - 1);
  }
  /// Products without a gap, with one, side by side (which needs longer rows), or of A and B at the
  /// same place.
  void place_products(GemmProblem& problem, int kind) {
    problem.batch = 2 + up_to(kMostProducts - 2);
    const auto stride = [&](std::int64_t rows, std::int64_t& leading,
                            bool may_share) -> std::optional<std::int64_t> {
      const std::int64_t length = leading;
      switch (up_to(may_share ? 3 : 2)) {
        case 0:
          return std::nullopt;
        case 1:
          return rows * leading + (kind == 1 ? 8 : 1) * up_to(kMostPadding / 8);
        case 2:
          leading *= problem.batch;
          return length;
        default:
          return 0;
      }
    };
    problem.stride_a = stride(stored_a(problem.extents()).rows, problem.lda, true);
    problem.stride_b = stride(stored_b(problem.extents()).rows, problem.ldb, true);
    problem.stride_d = stride(problem.m, problem.ldd, false);
  }
  std::mt19937 random_;
};

class OddSizesTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!device_) return;
    const auto count =
        static_cast<std::size_t>(kMostExtent * (kMostExtent + kMostPadding) + kMostOffset);
    const auto guarded = count + 2 * kGuardRows * (kMostExtent + kMostPadding);
    a_ = DeviceMemory(count * kInputBytes);
    b_ = DeviceMemory(count * kInputBytes);
    c_ = DeviceMemory(count * sizeof(float));
    bias_ = DeviceMemory((kMostExtent + kMostOffset) * sizeof(float));
    d_ = DeviceMemory(guarded * sizeof(float));
    aux_ = DeviceMemory(guarded * sizeof(float));
    addresses_ = DeviceMemory(3 * kMostProducts * sizeof(void*));
    sums_ = DeviceMemory(count * sizeof(float));
    reference_ = DeviceMemory(count * sizeof(float));
    aux_reference_ = DeviceMemory(count * sizeof(float));
    result_ = DeviceMemory(sizeof(OutputComparison));
  }

  Operands operands(const Draw& draw) const {
    const std::int64_t d_element = draw.d_offset + kGuardRows * draw.problem.leading_d();
    const std::int64_t offset = draw.d_offset * element_bytes(draw.problem.d_type);
    const auto output = [&](const DeviceMemory& memory) {
      return memory.as<std::byte>() + d_element * element_bytes(draw.problem.d_type);
    };
    return {.a = a_.as<std::uint16_t>() + draw.a_offset,
            .b = b_.as<std::uint16_t>() + draw.b_offset,
            .d = output(d_),
            .c = c_.as<std::byte>() + offset,
            .bias = bias_.as<std::byte>() + offset,
            .alpha = draw.problem.epilogue.scaled ? kAlpha : 1,
            .beta = draw.problem.epilogue.scaled ? kBeta : 1,
            .aux = output(aux_)};
  }

  /// What is wrong with the output of one launch, or nothing.
  std::string verify(const LoadedKernel& loaded, const Kernel& kernel, const Draw& draw,
                     std::uint64_t seed) {
    const GemmProblem& problem = draw.problem;
    Operands at = operands(draw);
    auto* const a = const_cast<void*>(at.a);
    auto* const b = const_cast<void*>(at.b);
    const auto sigma = static_cast<float>(1 / std::sqrt(static_cast<double>(problem.k)));
    auto* const c = const_cast<void*>(at.c);
    const auto fill = [&](void* data, const StoredMatrices& all, DataType type, float deviation,
                          std::uint32_t id) {
      fill_normal(data, spanned_elements(all), type, deviation, seed, id, stream().get());
      poison_padding(data, all, type, stream().get());
    };
    fill(a, all_of_a(problem.extents()), problem.a_type, 1.0f, 0);
    fill(b, all_of_b(problem.extents()), problem.b_type, sigma, 1);
    fill(c, all_of_d(problem.extents()), problem.d_type, 1.0f, 2);
    fill_normal(const_cast<void*>(at.bias), std::max(problem.m, problem.n), problem.d_type, 1.0f,
                seed, 3, stream().get());
    for (const DeviceMemory* output : {&d_, &aux_}) {
      check(cudaMemsetAsync(output->data(), kPoisonByte, output->bytes(), stream().get()),
            "poisoning");
    }
    float* const sums = problem.is_gated() ? sums_.as<float>() : reference_.as<float>();
    multiply_reference(sums, problem, at, stream().get());
    finish_reference(reference_.as<float>(),
                     problem.epilogue.aux ? aux_reference_.as<float>() : nullptr, sums, problem, at,
                     stream().get());
    if (draw.in_place) {
      const std::size_t bytes = matrix_bytes(1, problem.n, problem.d_type);
      const std::size_t pitch = matrix_bytes(1, problem.ldd, problem.d_type);
      check(cudaMemcpy2DAsync(at.d, pitch, c, pitch, bytes, static_cast<std::size_t>(problem.m),
                              cudaMemcpyDeviceToDevice, stream().get()),
            "copying C to D");
      at.c = at.d;
    }

    const int ctas = loaded.grid_ctas(problem);
    const Workspace workspace = loaded.make_workspace(problem, ctas);
    Operands given = at;
    if (problem.by_pointers) {
      const std::vector<const void*> addresses = product_addresses(problem, at);
      check(cudaMemcpyAsync(addresses_.data(), addresses.data(), addresses.size() * sizeof(void*),
                            cudaMemcpyHostToDevice, stream().get()),
            "copying addresses");
      given = operands_by_pointers(problem, at, addresses_.as<void*>());
    }
    loaded.launch(make_params(kernel, problem, given, workspace), ctas, stream().get());
    Verdict verdict = judge_output(at.d, reference_, problem, kGuardRows, 1, result_, stream());
    if (verdict.correct && problem.epilogue.aux) {
      verdict = judge_output(at.aux, aux_reference_, problem, kGuardRows, 1, result_, stream());
    }
    if (verdict.correct) return {};
    return fmt::format("{} at {}, first elements {}, {}, {} past a unit{}: {}", build_name(kernel),
                       to_string(problem), draw.a_offset, draw.b_offset, draw.d_offset,
                       draw.in_place ? ", D is C" : "", verdict.message);
  }

  DeviceMemory a_, b_, c_, bias_, d_, aux_, addresses_;
  DeviceMemory sums_, reference_, aux_reference_, result_;
};

/// The smoke space's kernels for all types, and a sixth of them for each of many random layouts,
/// epilogues and batches; but for those whose extents are constants.
std::vector<Build> builds_for_any_extents(Draws& draws) {
  std::vector<GemmProblem> problems;
  for (const DataType input : {DataType::kBf16, DataType::kFp16}) {
    for (const DataType output : {input, DataType::kFp32}) {
      problems.push_back({.m = 1, .n = 1, .k = 1, .tag = ""});
      problems.back().set_types(input);
      problems.back().d_type = output;
    }
  }
  std::vector<Kernel> kernels = smoke_kernels(problems);
  constexpr std::size_t kKinds = 36;
  constexpr std::size_t kPart = 6;
  for (std::size_t kind = 0; kind < kKinds; ++kind) {
    const std::vector<Kernel> all = smoke_kernels(draws.kind());
    for (std::size_t i = kind % kPart; i < all.size(); i += kPart) kernels.push_back(all[i]);
  }
  std::erase_if(kernels, [](const Kernel& kernel) { return is_fixed(config_of(kernel)); });
  return compile(kernels);
}

/// Whether it takes operands at any address.
bool takes_any_address(const Kernel& kernel) {
  if (std::holds_alternative<GemvKernel>(kernel)) return true;
  const auto* const tiled = std::get_if<TiledKernel>(&kernel);
  const StorePath store = tiled ? tiled->store : std::get<SwapAbKernel>(kernel).store;
  return packs(kernel) && store == StorePath::kStaged;
}

TEST_F(OddSizesTest, TenThousandRandomDrawsAreCorrect) {
  constexpr int kDraws = 10'000;
  struct Loaded {
    Kernel kernel;
    std::unique_ptr<LoadedKernel> loaded;
  };
  std::vector<Loaded> kernels;
  Draws draws(20261122);
  for (const Build& build : builds_for_any_extents(draws)) {
    EXPECT_EQ(build.status, Status::kOk) << build.facts.name << ": " << build.message;
    if (build.status != Status::kOk) continue;
    kernels.push_back({build.kernel, std::make_unique<LoadedKernel>(build.kernel, build.cubin)});
  }
  int done = 0;
  int with_epilogue = 0;
  int with_gate = 0;
  int batches = 0;
  int by_pointers = 0;
  int with_aux = 0;
  int unaligned = 0;
  int with_fp32_output = 0;
  int failed = 0;
  while (done < kDraws && failed < 10) {
    const auto& [kernel, loaded] = kernels[draws.index(kernels.size())];
    const Draw draw = draws.next(kind_of(kernel));
    if (!computes(kernel, draw.problem)) continue;
    if (find_misaligned(kernel, draw.problem.extents(), operands(draw)).name != nullptr) continue;
    unaligned += takes_any_address(kernel);
    with_fp32_output += draw.problem.d_type == DataType::kFp32;
    with_epilogue += has_epilogue(draw.problem.kind());
    with_gate += draw.problem.is_gated();
    batches += draw.problem.batch > 1;
    by_pointers += draw.problem.by_pointers;
    with_aux += draw.problem.epilogue.aux;
    const std::string wrong = verify(*loaded, kernel, draw, 1 + static_cast<std::uint64_t>(done));
    EXPECT_EQ(wrong, "");
    failed += !wrong.empty();
    ++done;
  }
  EXPECT_GT(unaligned, kDraws / 4);
  EXPECT_GT(with_fp32_output, kDraws / 4);
  EXPECT_GT(with_epilogue, kDraws / 5);
  EXPECT_GT(with_gate, kDraws / 50);
  EXPECT_GT(batches - by_pointers, kDraws / 50);
  EXPECT_GT(by_pointers, kDraws / 50);
  EXPECT_GT(with_aux, kDraws / 50);
  std::printf(
      "%d draws, %d of them by kernels for rows that begin anywhere, %d with fp32 outputs, %d with "
      "an epilogue, %d of these with a gate, %d with a second output, and %d batches, %d of them "
      "by pointers\n",
      done, unaligned, with_fp32_output, with_epilogue, with_gate, with_aux, batches, by_pointers);
}

TEST_F(OddSizesTest, AlignedKernelsRefuseOtherAddresses) {
  GemmProblem problem{.m = 64, .n = 64, .k = 64, .tag = ""};
  const auto params = [&](const TiledConfig& config, int a, int b, int d) {
    const int d_bytes = d * element_bytes(problem.d_type);
    return make_params(
        kernel_for(config, problem), problem,
        {a_.as<std::uint16_t>() + a, b_.as<std::uint16_t>() + b, d_.as<std::byte>() + d_bytes});
  };
  EXPECT_NO_THROW(params({}, 0, 8, 16));
  EXPECT_THROW(params({}, 1, 0, 0), Error);
  EXPECT_THROW(params({}, 0, 4, 0), Error);
  EXPECT_THROW(params({}, 0, 0, 7), Error);
  EXPECT_THROW(params({}, 0, 0, 4), Error);
  EXPECT_THROW(params({.pack = true}, 1, 4, 0), Error) << "no workspace";
  EXPECT_NO_THROW(params({.store = StorePath::kStaged}, 0, 0, 7));
  problem.d_type = DataType::kFp32;  // four of them are a unit
  EXPECT_NO_THROW(params({}, 0, 8, 4));
  EXPECT_THROW(params({}, 0, 0, 2), Error);
  EXPECT_NO_THROW(params({.store = StorePath::kStaged}, 0, 0, 3));
}

}  // namespace
}  // namespace hgemm::testing
