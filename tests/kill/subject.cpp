// The process that scripts/kill_test.py kills where the program itself would need a GPU or minutes:
//   kill_subject tune DB           tunes with a fake GPU; reports each commit on stdout
//   kill_subject compile CACHE     compiles kernels with a fake compiler in child processes; prints
//                                  the results on stdout: "<build> <hash of the cubin>"
//   kill_subject dump DB           prints the contents of the database, and "intact" if SQLite
//                                  finds it intact
#include <SQLiteCpp/SQLiteCpp.h>
#include <elf.h>
#include <fmt/format.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <set>
#include <thread>

#include "base/channel.h"
#include "base/hash.h"
#include "compile/compiler.h"
#include "compile/nvrtc.h"
#include "tests/tune/support.h"

namespace hgemm {
namespace {

void tell(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

// ---- tune ----

/// Reports commits as another process sees them: everything that was reported must stay in the
/// database.
class CommitLog {
 public:
  explicit CommitLog(std::string path) : path_(std::move(path)) {}

  void look() {
    if (!std::filesystem::exists(path_)) return;
    if (!db_) db_.emplace(path_, SQLite::OPEN_READONLY, 10'000);
    SQLite::Statement row(*db_,
                          "SELECT uid, label, count(round) FROM trial "
                          "JOIN race ON race.id = race_id "
                          "JOIN candidate ON candidate.id = candidate_id "
                          "LEFT JOIN sample ON trial_id = trial.id GROUP BY trial.id");
    while (row.executeStep()) {
      const std::string line = fmt::format("committed {} {} {}", row.getColumn(0).getString(),
                                           row.getColumn(1).getString(), row.getColumn(2).getInt());
      if (said_.insert(line).second) tell(line);
    }
  }

 private:
  std::string path_;
  std::optional<SQLite::Database> db_;
  std::set<std::string> said_;
};

void tune_into(const std::string& path) {
  FakeCompiler fake;
  fake.failing = {name(1)};
  FakeMeasurer gpu;
  gpu.in_prepare = {{name(2), {Status::kWrongResult}}, {name(3), {Status::kCrashed}}};
  gpu.in_round = {{name(4), {Status::kTimedOut}}};
  gpu.model_us = {{name(0), 99}, {name(5), 140}};
  TunePlan plan;
  plan.problems = {kSmall, kLarge, kLight};
  plan.configs = configs(8);
  plan.regimes = {Regime::kSustained, Regime::kBurst};
  plan.policy.min_rounds = 3;
  plan.policy.max_rounds = 6;
  plan.command_line = "kill_subject tune";
  Store store = Store::open(path, Store::Mode::kReadWrite);
  CommitLog log(path);
  gpu.before_step = [&log] { log.look(); };
  QuietListener listener;
  tune(plan, gpu, store, fake.compiler(), listener, nullptr);
  log.look();
}

void dump(const std::string& path) {
  for (const RecordedRace& race : Store::open(path, Store::Mode::kReadOnly).races()) {
    for (const Trial& trial : race.race.trials) {
      tell(fmt::format("trial {} {} {} {} {} {}", race.uid, trial.label, trial.samples.size(),
                       to_string(race.race.problem), to_string(race.race.regime),
                       to_string(trial.status)));
    }
  }
  SQLite::Database db(path, SQLite::OPEN_READONLY);
  for (const char* check : {"PRAGMA integrity_check", "PRAGMA foreign_key_check"}) {
    SQLite::Statement row(db, check);
    while (row.executeStep()) {
      const std::string text = row.getColumn(0).getString();
      if (text != "ok") throw Error(fmt::format("{}: {}", check, text));
    }
  }
  tell("intact");
}

// ---- compile ----

/// The smallest file in which code_hash() finds the code.
std::string elf_with_code(const std::string& code) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_shoff = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 1;
  Elf64_Shdr section{};
  section.sh_type = SHT_PROGBITS;
  section.sh_flags = SHF_EXECINSTR;
  section.sh_offset = sizeof header + sizeof section;
  section.sh_size = code.size();
  std::string file(sizeof header + sizeof section, '\0');
  std::memcpy(file.data(), &header, sizeof header);
  std::memcpy(file.data() + sizeof header, &section, sizeof section);
  return file + code;
}

/// Replaces NVRTC: returns code of some size that depends on the source, after a delay.
int compile_worker(int socket_fd) {
  Channel channel(socket_fd);
  try {
    for (;;) {
      const CompileJob job = channel.receive().value();
      std::string code;
      while (code.size() < 100'000) code += content_hash(job.source + code.substr(0, 40));
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
      const nlohmann::json reply =
          CompilerOutput{.succeeded = true,
                         .log =
                             "ptxas info    : 0 bytes gmem\n"
                             "ptxas info    : Compiling entry function 'k' for 'sm_90a'\n"
                             "ptxas info    : Function properties for k\n"
                             "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                             "ptxas info    : Used 168 registers, used 1 barriers\n",
                         .cubin = elf_with_code(code),
                         .cpu_ms = 1};
      if (!channel.send(reply)) return 1;
    }
  } catch (const ChannelClosed&) {
    return 0;
  }
}

void compile_into(const std::string& cache) {
  std::vector<Kernel> kernels;
  for (const KernelConfig& config : configs(16)) kernels.push_back(kernel_for(config, kLarge));
  CompileOptions options;
  options.cache_dir = cache;
  options.jobs = 2;
  // The folder is in the command, so that a child which outlives its parent can be identified.
  options.toolchain.worker = {kThisProgram, "compile-worker", cache};
  compile_all(kernels, options, [](const Build& build) {
    if (build.status != Status::kOk) throw Error(build.facts.name + ": " + build.message);
    tell(fmt::format("{} {}", build.facts.name, content_hash(read_cubin(build.cubin))));
  });
}

int run(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 3 && words[0] == "compile-worker") return compile_worker(std::stoi(words[2]));
  if (words.size() != 2) throw InputError("usage: kill_subject tune|compile|dump PATH");
  if (words[0] == "tune") {
    tune_into(words[1]);
  } else if (words[0] == "compile") {
    compile_into(words[1]);
  } else if (words[0] == "dump") {
    dump(words[1]);
  } else {
    throw InputError("kill_subject does not know " + words[0]);
  }
  return 0;
}

}  // namespace
}  // namespace hgemm

int main(int argc, char** argv) {
  try {
    return hgemm::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
