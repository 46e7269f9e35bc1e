// torch.ops.hgemm_tune: linear(x, weight, bias, activation) and gated_linear(x, weight, activation)
// for tensors of CPUs and of CUDA. Where a bundle has no kernel for a product, torch computes it.
//
// These two are what people call. They have no kernel of their own for torch.compile or autograd to
// see: by the mode of gradients each becomes others that do the same. _linear and _gated_linear
// have no formula of gradients, whose lookup would cost more than the launch; _linear_with_grad has
// one, in Python, and with gradients the gate is torch's.
//
// _siblings and _gated_siblings are what patched models call: layers of one input, whose weights
// are one matrix if they lie one after another. They look at addresses, which compiled code cannot.
#include "operators.h"

#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "serving.h"

namespace hgemm_torch {

namespace {

std::mutex serving_mutex;
thread_local std::string last_error;

/// It is never freed: at the end of a process the driver may be gone before it.
std::shared_ptr<Serving>& serving_slot() {
  static auto* const slot = new std::shared_ptr<Serving>;
  return *slot;
}
std::shared_ptr<Serving> serving() {
  const std::lock_guard lock(serving_mutex);
  return serving_slot();
}

[[noreturn]] void refuse(const std::string& why) {
  last_error = "hgemm_tune: " + why;
  throw std::runtime_error(last_error);
}

/// As torch names them, which has two kinds of GELU.
std::optional<std::int32_t> known_activation(std::string_view name) {
  if (name == "relu") return HGEMM_TUNED_RELU;
  if (name == "gelu") return HGEMM_TUNED_GELU_ERF;
  if (name == "gelu_tanh") return HGEMM_TUNED_GELU;
  if (name == "silu") return HGEMM_TUNED_SILU;
  return std::nullopt;
}
std::int32_t activation_of(const std::string& name) {
  if (const auto activation = known_activation(name)) return *activation;
  refuse("there is no activation \"" + name + "\": name relu, gelu, gelu_tanh or silu, or none");
}

/// Takes an optional argument off the stack.
std::optional<StableValue> take_optional(StableValue argument) {
  const std::unique_ptr<StableValue> value(reinterpret_cast<StableValue*>(argument));
  return value != nullptr ? std::optional(*value) : std::nullopt;
}
StableValue optional_argument(std::optional<Tensor> tensor) {
  if (!tensor) return 0;
  return reinterpret_cast<StableValue>(new StableValue(tensor->release()));
}

std::int32_t take_activation(StableValue argument) {
  const std::optional<StableValue> value = take_optional(argument);
  if (!value) return HGEMM_TUNED_NO_ACTIVATION;
  const auto handle = reinterpret_cast<StringHandle>(*value);
  const char* text = nullptr;
  std::size_t length = 0;
  ErrorCode code = torch().string_text(handle, &text);
  if (code == 0) code = torch().string_length(handle, &length);
  const std::string name = code == 0 ? std::string(text, length) : "";
  torch().delete_string(handle);
  require(code, "reading the activation");
  return activation_of(name);
}

void call(const char* name, const char* overload, StableValue* stack) {
  last_error.clear();
  if (torch().call(name, overload, stack, kAbiVersion) == 0) return;
  if (last_error.empty()) torch_failed(name);
  throw std::runtime_error(last_error);  // what this library threw, which torch may keep to itself
}
void call(const char* name, StableValue* stack) { call(name, "", stack); }

Tensor activated(Tensor y, std::int32_t activation) {
  StableValue stack[2] = {0, 0};
  switch (activation) {
    case HGEMM_TUNED_RELU:
      stack[0] = y.release();
      call("aten::relu", stack);
      break;
    case HGEMM_TUNED_SILU:
      stack[0] = y.release();
      call("aten::silu", stack);
      break;
    case HGEMM_TUNED_GELU:
    case HGEMM_TUNED_GELU_ERF: {
      const std::string approximate = activation == HGEMM_TUNED_GELU ? "tanh" : "none";
      StringHandle text = nullptr;
      require(torch().new_string(approximate.data(), approximate.size(), &text), "making a text");
      stack[0] = y.release();
      stack[1] = reinterpret_cast<StableValue>(text);
      call("aten::gelu", stack);
      break;
    }
    default:
      return y;
  }
  return Tensor(stack[0]);
}

struct Arguments {
  Tensor x, weight;
  std::optional<Tensor> bias;
  std::int32_t activation = HGEMM_TUNED_NO_ACTIVATION;
  std::int32_t gate = HGEMM_TUNED_NO_GATE;
};

/// Those of a linear layer. Takes all off the stack before anything can fail: who throws has freed
/// them.
Arguments take(StableValue* stack, std::uint64_t inputs) {
  Arguments taken{Tensor(stack[0]), Tensor(stack[1]), std::nullopt};
  if (const auto bias = take_optional(stack[2])) taken.bias.emplace(*bias);
  if (inputs > 3) taken.activation = take_activation(stack[3]);
  return taken;
}
/// Those of a gated one.
Arguments take_gated(StableValue* stack) {
  Arguments taken{Tensor(stack[0]), Tensor(stack[1]), std::nullopt};
  taken.activation = take_activation(stack[2]);
  taken.gate = HGEMM_TUNED_GATE_HALVES;
  return taken;
}

struct Described {
  Description x, weight;
  std::optional<Description> bias;
};

/// Descriptions of what fits together; otherwise it throws as torch's own function does.
Described checked(const Arguments& arguments) {
  Described d{describe(arguments.x), describe(arguments.weight), std::nullopt};
  if (d.x.dim < 1 || d.weight.dim != 2 || d.x.last_size() != d.weight.last_size()) {
    refuse("x must have as many columns as the weight, a matrix of outputs x inputs");
  }
  if (!d.x.is_alike(d.weight)) refuse("x and the weight must have one dtype and device");
  if (arguments.gate != HGEMM_TUNED_NO_GATE && d.weight.sizes[0] % 2 != 0) {
    refuse("a gated weight must have as many gates as ups, the gates first");
  }
  if (arguments.bias) {
    d.bias = describe(*arguments.bias);
    if (d.bias->dim != 1 || d.bias->sizes[0] != d.weight.sizes[0]) {
      refuse("the bias must be a vector of the weight's outputs");
    }
    if (!d.bias->is_alike(d.x)) refuse("x and the bias must have one dtype and device");
  }
  return d;
}

/// The result of a tuned kernel, if there is a bundle with one.
std::optional<Tensor> tuned(const Described& d, std::int32_t activation, std::int32_t gate) {
  if (d.x.device_type != torch().device_type_cuda()) return std::nullopt;
  const std::shared_ptr<Serving> active = serving();
  if (active == nullptr) return std::nullopt;
  std::optional<Tensor> result;
  const bool is_bf16 = d.x.dtype == torch().dtype_bfloat16();
  const std::optional<Matrix> a = matrix_of(d.x), b = matrix_of(d.weight);
  if ((is_bf16 || d.x.dtype == torch().dtype_float16()) && a && b && d.x.dim < kMostDims &&
      (!d.bias || d.bias->strides[0] == 1) && torch().current_cuda_stream != nullptr) {
    Weight weight{.data = d.weight.data,
                  .device = d.x.device_index,
                  .n = b->rows,
                  .k = b->columns,
                  .lda = a->leading,
                  .ldb = b->leading,
                  .dtype = is_bf16 ? HGEMM_TUNED_BF16 : HGEMM_TUNED_FP16,
                  .bias = d.bias ? HGEMM_TUNED_BIAS_ALONG_N : HGEMM_TUNED_NO_BIAS,
                  .activation = activation,
                  .gate = gate};
    if (a->is_row_major) {
      weight.layout = b->is_row_major ? HGEMM_TUNED_TN : HGEMM_TUNED_TT;
    } else {
      weight.layout = b->is_row_major ? HGEMM_TUNED_NN : HGEMM_TUNED_NT;
    }
    result = active->run(weight, a->rows, d.x, d.bias ? d.bias->data : nullptr);
  }
  if (!result) active->count_other();
  return result;
}

/// `count` columns of y, from `first` on.
Tensor part_of(const Tensor& y, std::int64_t first, std::int64_t count) {
  StableValue stack[4] = {y.shared(), static_cast<StableValue>(std::int64_t{-1}),
                          static_cast<StableValue>(first), static_cast<StableValue>(count)};
  call("aten::narrow", stack);
  return Tensor(stack[0]);
}

/// activation(gates) * ups, of the `n` columns of y.
Tensor gated(const Tensor& y, std::int64_t n, std::int32_t activation) {
  Tensor ups = part_of(y, n / 2, n / 2);
  StableValue stack[2] = {activated(part_of(y, 0, n / 2), activation).release(), ups.release()};
  call("aten::mul", "Tensor", stack);
  return Tensor(stack[0]);
}

Tensor by_torch(Arguments arguments, std::int64_t n) {
  StableValue stack[3] = {arguments.x.release(), arguments.weight.release(),
                          optional_argument(std::move(arguments.bias))};
  call("aten::linear", stack);
  Tensor y(stack[0]);
  y = arguments.gate == HGEMM_TUNED_NO_GATE ? activated(std::move(y), arguments.activation)
                                            : gated(y, n, arguments.activation);
  bool is_contiguous = true;  // as the fake kernel promises
  require(torch().is_contiguous(y.get(), &is_contiguous), "reading a tensor's strides");
  if (is_contiguous) return y;
  StableValue copied[2] = {y.release(), static_cast<StableValue>(torch().format_contiguous())};
  call("aten::contiguous", copied);
  return Tensor(copied[0]);
}

Tensor compute(Arguments arguments) {
  const Described d = checked(arguments);
  const std::int64_t n = d.weight.sizes[0];
  std::optional<Tensor> result = tuned(d, arguments.activation, arguments.gate);
  return result ? std::move(*result) : by_torch(std::move(arguments), n);
}

/// Matrices or vectors of 16-bit elements that lie one after another, as one tensor of all their
/// rows, which does not own its memory. None if they do not lie so.
std::optional<Tensor> as_one(const std::vector<Tensor>& parts) {
  constexpr std::int64_t kElementBytes = 2;
  const Description first = describe(parts.front());
  if ((first.dtype != torch().dtype_bfloat16() && first.dtype != torch().dtype_float16()) ||
      first.dim < 1 || first.dim > 2) {
    return std::nullopt;
  }
  const std::int64_t columns = first.dim == 2 ? first.sizes[1] : 1;
  const auto begin = reinterpret_cast<std::uintptr_t>(first.data);
  std::int64_t rows = 0;
  for (const Tensor& part : parts) {
    const Description d = describe(part);
    bool is_contiguous = false;
    require(torch().is_contiguous(part.get(), &is_contiguous), "reading a tensor's strides");
    if (!is_contiguous || d.dim != first.dim || !d.is_alike(first) ||
        (d.dim == 2 && d.sizes[1] != columns) ||
        reinterpret_cast<std::uintptr_t>(d.data) !=
            begin + static_cast<std::uintptr_t>(rows * columns * kElementBytes)) {
      return std::nullopt;
    }
    rows += d.sizes[0];
  }
  const std::array<std::int64_t, 2> sizes{rows, columns}, strides{columns, 1};
  TensorHandle made = nullptr;
  require(torch().from_blob(first.data, first.dim, sizes.data(), strides.data(), 0, first.dtype,
                            first.device_type, first.device_index, &made),
          "making a tensor");
  return Tensor(made);
}

/// Layers of one input.
struct Siblings {
  Tensor x;
  std::vector<Tensor> weights, biases;  ///< a bias for each, or none
};

Siblings take_siblings(StableValue* stack) {
  Siblings taken{Tensor(stack[0]), {}, {}};
  taken.weights.emplace_back(stack[1]);
  taken.weights.emplace_back(stack[2]);
  if (const auto third = take_optional(stack[3])) taken.weights.emplace_back(*third);
  for (int i = 4; i < 7; ++i) {
    if (const auto bias = take_optional(stack[i])) taken.biases.emplace_back(*bias);
  }
  return taken;
}

/// Each computed for itself; the results are the columns of one tensor, in turn.
Tensor apart(Siblings siblings) {
  const Description x = describe(siblings.x);
  if (x.dim < 1 || x.dim >= kMostDims) refuse("x has no dimension, or too many");
  std::int64_t n = 0;
  for (const Tensor& weight : siblings.weights) {
    const Description d = describe(weight);
    if (d.dim != 2) refuse("each weight must be a matrix of outputs x inputs");
    n += d.sizes[0];
  }
  std::optional<Tensor> all = empty_with_last_size(x, n);
  if (!all) torch_failed("making a tensor");
  std::int64_t first = 0;
  for (std::size_t i = 0; i < siblings.weights.size(); ++i) {
    const std::int64_t count = describe(siblings.weights[i]).sizes[0];
    std::optional<Tensor> bias;
    if (!siblings.biases.empty()) bias.emplace(std::move(siblings.biases[i]));
    StableValue stack[4] = {siblings.x.shared(), siblings.weights[i].release(),
                            optional_argument(std::move(bias)), 0};
    call("hgemm_tune::_linear", stack);
    Tensor y(stack[0]);
    StableValue copied[3] = {part_of(*all, first, count).release(), y.release(), 0};
    call("aten::copy_", copied);
    const Tensor written(copied[0]);
    first += count;
  }
  return std::move(*all);
}

Tensor compute_siblings(Siblings siblings) {
  if (!siblings.biases.empty() && siblings.biases.size() != siblings.weights.size()) {
    refuse("either each layer has a bias, or none");
  }
  std::optional<Tensor> weight = as_one(siblings.weights), bias;
  if (!siblings.biases.empty()) bias = as_one(siblings.biases);
  if (!weight || bias.has_value() == siblings.biases.empty()) return apart(std::move(siblings));
  // The parts stay alive until the product of the whole is enqueued.
  return compute({Tensor(siblings.x.shared()), std::move(*weight), std::move(bias)});
}

Tensor compute_gated_siblings(Siblings siblings, std::int32_t activation) {
  const Description gate = describe(siblings.weights[0]), up = describe(siblings.weights[1]);
  if (gate.dim != 2 || up.dim != 2 || gate.sizes[0] != up.sizes[0]) {
    refuse("gate and up must be matrices of as many outputs");
  }
  const std::int64_t n = 2 * gate.sizes[0];
  std::optional<Tensor> weight = as_one(siblings.weights);
  if (!weight) return gated(apart(std::move(siblings)), n, activation);
  return compute({Tensor(siblings.x.shared()), std::move(*weight), std::nullopt, activation,
                  HGEMM_TUNED_GATE_HALVES});
}

/// What a kernel returns. An error's text is kept: torch drops it where another kernel has called
/// this one.
template <class Result>
void store(StableValue* stack, const Result& result) {
  try {
    stack[0] = result().release();
  } catch (const std::exception& error) {
    last_error = error.what();
    throw;
  }
}
/// _linear and _linear_with_grad, which has no activation.
void linear_kernel(StableValue* stack, std::uint64_t inputs, std::uint64_t) {
  store(stack, [&] { return compute(take(stack, inputs)); });
}
/// _gated_linear
void gated_kernel(StableValue* stack, std::uint64_t, std::uint64_t) {
  store(stack, [&] { return compute(take_gated(stack)); });
}
/// _siblings
void siblings_kernel(StableValue* stack, std::uint64_t, std::uint64_t) {
  store(stack, [&] { return compute_siblings(take_siblings(stack)); });
}
/// _gated_siblings
void gated_siblings_kernel(StableValue* stack, std::uint64_t, std::uint64_t) {
  store(stack, [&] {
    Siblings siblings{Tensor(stack[0]), {}, {}};
    siblings.weights.emplace_back(stack[1]);
    siblings.weights.emplace_back(stack[2]);
    const std::int32_t activation = take_activation(stack[3]);
    return compute_gated_siblings(std::move(siblings), activation);
  });
}

/// linear
void choose(StableValue* stack, std::uint64_t, std::uint64_t) {
  if (!torch().grad_mode_is_enabled()) return call("hgemm_tune::_linear", stack);
  // torch's own activation has a gradient, which needs the sums before it.
  Arguments arguments = take(stack, 4);
  stack[0] = arguments.x.release();
  stack[1] = arguments.weight.release();
  stack[2] = optional_argument(std::move(arguments.bias));
  call("hgemm_tune::_linear_with_grad", stack);
  stack[0] = activated(Tensor(stack[0]), arguments.activation).release();
}

/// gated_linear
void choose_gated(StableValue* stack, std::uint64_t, std::uint64_t) {
  if (!torch().grad_mode_is_enabled()) return call("hgemm_tune::_gated_linear", stack);
  Arguments arguments = take_gated(stack);
  const std::int64_t n = checked(arguments).weight.sizes[0];
  StableValue inner[3] = {arguments.x.release(), arguments.weight.release(), 0};
  call("hgemm_tune::_linear_with_grad", inner);
  stack[0] = gated(Tensor(inner[0]), n, arguments.activation).release();
}

/// What a call asks of a bundle; none if there is no such activation.
std::optional<Weight> weight_of(const hgemm_torch_linear& call) {
  const auto activation = call.activation != nullptr
                              ? known_activation(call.activation)
                              : std::optional<std::int32_t>(HGEMM_TUNED_NO_ACTIVATION);
  if (!activation) return std::nullopt;
  return Weight{.n = call.n,
                .k = call.k,
                .lda = call.k,
                .ldb = call.k,
                .dtype = call.is_bf16 != 0 ? HGEMM_TUNED_BF16 : HGEMM_TUNED_FP16,
                .layout = HGEMM_TUNED_TN,
                .bias = call.has_bias != 0 ? HGEMM_TUNED_BIAS_ALONG_N : HGEMM_TUNED_NO_BIAS,
                .activation = *activation,
                .gate = HGEMM_TUNED_NO_GATE};
}

void define_operators() {
  const TorchAbi& t = torch();
  constexpr int kLine = 0;
  LibraryHandle library = nullptr;
  require(t.library_fragment("hgemm_tune", __FILE__, kLine, &library), "making a library");
  for (const char* schema :
       {"linear(Tensor x, Tensor weight, Tensor? bias=None, str? activation=None) -> Tensor",
        "_linear(Tensor x, Tensor weight, Tensor? bias=None, str? activation=None) -> Tensor",
        "_linear_with_grad(Tensor x, Tensor weight, Tensor? bias) -> Tensor",
        "gated_linear(Tensor x, Tensor weight, str? activation=None) -> Tensor",
        "_gated_linear(Tensor x, Tensor weight, str? activation=None) -> Tensor",
        "_siblings(Tensor x, Tensor first, Tensor second, Tensor? third, Tensor? first_bias, "
        "Tensor? second_bias, Tensor? third_bias) -> Tensor",
        "_gated_siblings(Tensor x, Tensor gate, Tensor up, str? activation=None) -> Tensor"}) {
    require(t.define(library, schema), "defining an operator");
  }
  const auto implement = [&](const char* key, const char* name, BoxedKernel kernel) {
    LibraryHandle implementations = nullptr;
    require(t.library_implementations("hgemm_tune", key, __FILE__, kLine, &implementations),
            "making a library");
    require(t.implement(implementations, name, kernel, kAbiVersion), "implementing an operator");
  };
  implement("CompositeImplicitAutograd", "linear", choose);
  implement("CompositeImplicitAutograd", "gated_linear", choose_gated);
  for (const char* key : {"CPU", "CUDA"}) {
    implement(key, "_linear", linear_kernel);
    implement(key, "_linear_with_grad", linear_kernel);
    implement(key, "_gated_linear", gated_kernel);
    implement(key, "_siblings", siblings_kernel);
    implement(key, "_gated_siblings", gated_siblings_kernel);
  }
}

}  // namespace

}  // namespace hgemm_torch

using namespace hgemm_torch;

int hgemm_torch_abi(void) { return HGEMM_TORCH_ABI; }

int hgemm_torch_register(void) {
  static bool is_done = false;  // Python loads a module again after a failed import, or if asked to
  if (is_done) return 0;
  try {
    last_error = find_torch();
    if (last_error.empty()) define_operators();
    is_done = last_error.empty();
  } catch (const std::exception& error) {
    last_error = error.what();
  }
  return last_error.empty() ? 0 : 1;
}

const char* hgemm_torch_error(void) { return last_error.c_str(); }

void hgemm_torch_use(hgemm_bundle* bundle, int only_gains) {
  std::shared_ptr<Serving> made;
  if (bundle != nullptr) made = std::make_shared<Serving>(bundle, only_gains != 0);
  {
    const std::lock_guard lock(serving_mutex);
    serving_slot().swap(made);
  }
  // The caller may close the old bundle next, which calls of other threads may still use.
  while (made.use_count() > 1) std::this_thread::sleep_for(std::chrono::microseconds(50));
}

void hgemm_torch_counts(std::int64_t* tuned_calls, std::int64_t* other_calls) {
  const std::shared_ptr<Serving> active = serving();
  *tuned_calls = active != nullptr ? active->tuned_calls() : 0;
  *other_calls = active != nullptr ? active->other_calls() : 0;
}

int hgemm_torch_falls_back(const hgemm_torch_linear* call) {
  const std::shared_ptr<Serving> active = serving();
  const std::optional<Weight> weight = weight_of(*call);
  return active == nullptr || (weight && active->falls_back(*weight, call->m));
}

void hgemm_torch_count_fallbacks(const hgemm_torch_linear* call, std::int64_t count) {
  const std::shared_ptr<Serving> active = serving();
  const std::optional<Weight> weight = weight_of(*call);
  if (active != nullptr && weight) active->count_fallbacks(*weight, call->m, count);
}
