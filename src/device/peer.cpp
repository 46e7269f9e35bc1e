#include "device/peer.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"

namespace hgemm {
namespace {

constexpr std::size_t kLongestText = 500;

/// A text of a peer, fit for a table and a database.
std::string cleaned(const char* text) {
  if (text == nullptr) return {};
  std::string line = one_line(std::string_view(text).substr(0, kLongestText));
  while (!line.empty() && (line.back() == '?' || line.back() == ' ')) line.pop_back();
  return line;
}

int type_of(DataType type) {
  switch (type) {
    case DataType::kBf16:
      return HGEMM_PEER_BF16;
    case DataType::kFp16:
      return HGEMM_PEER_FP16;
    case DataType::kFp32:
      return HGEMM_PEER_FP32;
    case DataType::kE4m3:
      return HGEMM_PEER_E4M3;
    case DataType::kE5m2:
      return HGEMM_PEER_E5M2;
  }
  throw Error("the interface of peers has no name for this type");
}

int scaling_of(Scaling scaling) {
  switch (scaling) {
    case Scaling::kNone:
      return HGEMM_PEER_SCALING_NONE;
    case Scaling::kTensor:
      return HGEMM_PEER_SCALING_TENSOR;
    case Scaling::kRows:
      return HGEMM_PEER_SCALING_ROWS;
    case Scaling::kBlocks:
      return HGEMM_PEER_SCALING_BLOCKS;
    case Scaling::kRowBlocks:
      return HGEMM_PEER_SCALING_ROW_BLOCKS;
    case Scaling::kPackedBlocks:
      return HGEMM_PEER_SCALING_PACKED_BLOCKS;
  }
  throw Error("the interface of peers has no name for these scales");
}

/// What a peer must know to be asked about the problem: bits of hgemm_peer::knows.
std::uint32_t needed_knowledge(const GemmProblem& problem) {
  std::uint32_t needed = 0;
  if (is_8_bit(problem.a_type) || is_8_bit(problem.b_type)) needed |= HGEMM_PEER_KNOWS_8_BIT;
  if (problem.scaling != Scaling::kNone) needed |= HGEMM_PEER_KNOWS_SCALES;
  return needed;
}

hgemm_peer_problem problem_of(const GemmProblem& problem) {
  return {.m = problem.m,
          .n = problem.n,
          .k = problem.k,
          .lda = problem.leading_a(),
          .ldb = problem.leading_b(),
          .ldd = problem.leading_d(),
          .a_type = type_of(problem.a_type),
          .b_type = type_of(problem.b_type),
          .d_type = type_of(problem.d_type),
          .accumulator = problem.accumulator == Accumulator::kFast ? HGEMM_PEER_SUMS_FAST
                                                                   : HGEMM_PEER_SUMS_FP32,
          .scaling = scaling_of(problem.scaling),
          .reserved = 0};
}

/// What is wrong with the file is the peer's failure, not that of the race.
std::string hash_of(const std::filesystem::path& file) {
  try {
    return content_hash(read_file(file, kLongestPeerBytes));
  } catch (const InputError& error) {
    throw Error(error.what());
  }
}

/// Loads the library and checks its table. It is never unloaded: CUDA modules and threads of the
/// peer may outlive it.
const hgemm_peer* load(const Peer& peer) {
  if (hash_of(peer.file) != peer.hash) {
    throw Error(fmt::format("{} has changed since this command began; run the command again",
                            peer.file.string()));
  }
  void* const library = dlopen(peer.file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error(fmt::format("{} cannot be loaded: {}", peer.file.string(), cleaned(dlerror())));
  }
  const auto table =
      reinterpret_cast<decltype(&hgemm_peer_table)>(dlsym(library, "hgemm_peer_table"));
  if (table == nullptr) {
    throw Error(fmt::format("{} exports no hgemm_peer_table(): it is no peer (hgemm_peer.h)",
                            peer.file.string()));
  }
  const hgemm_peer* const found = table();
  if (found == nullptr || found->abi != HGEMM_PEER_ABI || found->table_size < sizeof(hgemm_peer)) {
    throw Error(fmt::format(
        "{} was built for version {} of hgemm_peer.h, and this program knows version {}; build it "
        "again",
        peer.file.string(), found == nullptr ? 0 : found->abi, HGEMM_PEER_ABI));
  }
  const bool is_complete = found->name && found->version && found->open && found->close &&
                           found->error && found->variants && found->describe &&
                           found->workspace_bytes && found->launch;
  if (!is_complete) {
    throw Error(fmt::format("{}: an entry of its hgemm_peer table is null", peer.file.string()));
  }
  return found;
}

class PeerCandidate : public Candidate {
 public:
  PeerCandidate(std::shared_ptr<const LoadedPeer> peer, int variant, const ProblemData& data,
                WorkspacePool& pool)
      : peer_(std::move(peer)), variant_(variant), data_(data) {
    const std::size_t bytes = peer_->workspace_bytes(data.problem(), variant);
    if (bytes > 0) workspace_ = pool.lend(WorkspacePool::Use::kPeer, bytes);
  }
  void launch(int set, cudaStream_t stream) const override {
    peer_->launch(data_.problem(), variant_, data_.operands(set),
                  workspace_ ? workspace_->data() : nullptr, stream);
  }
  /// Like a library, a peer may add up parts of K in the type of the output.
  int roundings() const override { return kLibraryRoundings; }
  std::string describe() const override { return peer_->describe(data_.problem(), variant_); }

 private:
  std::shared_ptr<const LoadedPeer> peer_;
  int variant_;
  const ProblemData& data_;
  std::shared_ptr<const DeviceMemory> workspace_;
};

}  // namespace

LoadedPeer::LoadedPeer(const Peer& peer) : peer_(peer), table_(load(peer)) {
  if (table_->open(peer.options.c_str(), &state_) == 0) return;
  state_ = nullptr;
  fail("open");
}

LoadedPeer::~LoadedPeer() { table_->close(state_); }

void LoadedPeer::fail(const char* function) const {
  const std::string reason = cleaned(table_->error(state_));
  throw Error(fmt::format("{}() of peer {}: {}", function, peer_.name,
                          reason.empty() ? "failed without a reason" : reason));
}

const char* LoadedPeer::why_not_asked(const GemmProblem& problem) const {
  if (problem.layout != Layout::kTN || has_epilogue(problem.kind()) || problem.batch > 1 ||
      problem.has_8_bit_output()) {
    return "the interface of peers has single products of layout TN without an epilogue, and no D "
           "of 8 bits";
  }
  const std::uint32_t unknown = needed_knowledge(problem) & ~table_->knows;
  if ((unknown & HGEMM_PEER_KNOWS_8_BIT) != 0) {
    return "the peer says that it knows no 8-bit operands (knows in hgemm_peer.h)";
  }
  if ((unknown & HGEMM_PEER_KNOWS_SCALES) != 0) {
    return "the peer says that it knows no scales (knows in hgemm_peer.h)";
  }
  return nullptr;
}

int LoadedPeer::variants(const GemmProblem& problem) const {
  if (why_not_asked(problem) != nullptr) return 0;
  const hgemm_peer_problem asked = problem_of(problem);
  const int count = table_->variants(state_, &asked);
  if (count < 0) fail("variants");
  return std::min(count, HGEMM_PEER_MOST_VARIANTS);
}

std::string LoadedPeer::describe(const GemmProblem& problem, int variant) const {
  const hgemm_peer_problem asked = problem_of(problem);
  return fmt::format("{} {}, {}", cleaned(table_->name), cleaned(table_->version),
                     cleaned(table_->describe(state_, &asked, variant)));
}

std::size_t LoadedPeer::workspace_bytes(const GemmProblem& problem, int variant) const {
  const hgemm_peer_problem asked = problem_of(problem);
  const std::int64_t bytes = table_->workspace_bytes(state_, &asked, variant);
  if (bytes < 0) fail("workspace_bytes");
  return static_cast<std::size_t>(bytes);
}

void LoadedPeer::launch(const GemmProblem& problem, int variant, const Operands& operands,
                        void* workspace, cudaStream_t stream) const {
  const hgemm_peer_problem asked = problem_of(problem);
  const bool is_scaled = problem.scaling != Scaling::kNone;
  const hgemm_peer_operands given{.a = operands.a,
                                  .b = operands.b,
                                  .d = operands.d,
                                  .workspace = workspace,
                                  .scale_a = is_scaled ? operands.scale_a : nullptr,
                                  .scale_b = is_scaled ? operands.scale_b : nullptr};
  if (table_->launch(state_, &asked, variant, &given, stream) != 0) fail("launch");
  // An error of the GPU that the peer did not look for is its own, not that of the next call.
  check(cudaGetLastError(), "launching a peer");
}

std::shared_ptr<const LoadedPeer> LoadedPeers::get(const Peer& peer) {
  std::shared_ptr<const LoadedPeer>& loaded = by_identity_[peer.identity()];
  if (!loaded) loaded = std::make_shared<const LoadedPeer>(peer);
  return loaded;
}

std::unique_ptr<Candidate> make_peer_candidate(std::shared_ptr<const LoadedPeer> peer, int variant,
                                               const ProblemData& data, WorkspacePool& pool) {
  return std::make_unique<PeerCandidate>(std::move(peer), variant, data, pool);
}

}  // namespace hgemm
