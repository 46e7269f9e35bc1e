#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/resources.h"
#include "base/revision.h"
#include "base/text.h"
#include "cli/commands.h"
#include "compile/compiler.h"
#include "device/findings.h"
#include "output/emit.h"
#include "program/help.h"
#include "program/writable.h"
#include "store/store.h"
#include "studies/counters/run_cupti.h"
#include "worker/remote.h"

namespace hgemm::cli {
namespace {
namespace fs = std::filesystem;

struct DoctorOptions {
  std::string db = kDefaultDatabase;
  std::string cache_dir;
  bool kernel_hash = false;
  bool environment = false;
};

Finding check_nvrtc() {
  try {
    return {.part = "NVRTC", .ok = true, .detail = nvrtc_version(), .advice = ""};
  } catch (const std::exception& error) {
    return {.part = "NVRTC",
            .detail = error.what(),
            .advice = "install the CUDA 13 toolkit's NVRTC, or add its lib64 to LD_LIBRARY_PATH"};
  }
}

/// `chosen` is a folder; empty: the default folder.
Finding check_cache(const std::string& chosen) {
  Finding finding{.part = "cache", .detail = chosen, .advice = ""};
  try {
    if (chosen.empty()) finding.detail = default_cache_dir().string();
    finding.ok = can_write_into(finding.detail);
    if (!finding.ok) finding.advice = "cannot be written: choose another folder with --cache-dir";
  } catch (const std::exception& error) {
    finding.detail = error.what();
    finding.advice = "set HOME, or choose a folder with --cache-dir";
  }
  return finding;
}

Finding check_database(const std::string& path) {
  Finding finding{.part = "database", .detail = path, .advice = ""};
  if (!fs::exists(path)) {
    finding.ok = can_write_into(fs::absolute(path).parent_path());
    finding.detail += " (not there yet)";
    if (!finding.ok) finding.advice = "its folder cannot be written: choose another with --db";
    return finding;
  }
  try {
    const auto races = Store::open(path, Store::Mode::kReadOnly).races();
    finding.ok = access(path.c_str(), W_OK) == 0;
    finding.detail += fmt::format(" ({} race{})", races.size(), races.size() == 1 ? "" : "s");
    if (!finding.ok) finding.advice = "cannot be written: choose another with --db";
  } catch (const Error& error) {
    finding.detail = error.what();
    finding.advice = "choose another with --db";
  }
  return finding;
}

Finding check_resources() {
  try {
    const auto databases = answering_databases();
    return {.part = "shipped files",
            .ok = true,
            .detail = fmt::format("{} ({} recorded database{})", resource_dir().string(),
                                  databases.size(), databases.size() == 1 ? "" : "s"),
            .advice = ""};
  } catch (const Error& error) {
    return {.part = "shipped files", .detail = error.what(), .advice = "see the message"};
  }
}

int run_doctor(const DoctorOptions& options) {
  if (options.kernel_hash) {
    fmt::print("{}\n", kernel_source_hash());
    return 0;
  }
  if (options.environment) {
    fmt::print("{}\n", format_machine(RemoteMeasurer().machine()));
    return 0;
  }
  std::vector<Finding> findings = gpu_findings();
  findings.push_back(check_counters());
  findings.push_back(check_nvrtc());
  findings.push_back(check_cache(options.cache_dir));
  findings.push_back(check_database(options.db));
  findings.push_back(check_resources());

  fmt::print("hgemm-tune {} ({}), kernel sources {}\n\n", HGEMM_TUNE_VERSION, git_revision(),
             kernel_source_hash());
  for (const Finding& finding : findings) {
    const char* mark = finding.ok ? "ok" : finding.required ? "MISSING" : "missing";
    fmt::print("{:<8} {:<14} {}\n", mark, finding.part, printable(finding.detail));
    if (!finding.ok) fmt::print("{:<8} {:<14} -> {}\n", "", "", printable(finding.advice));
  }
  const bool ready =
      std::ranges::all_of(findings, [](const Finding& f) { return f.ok || !f.required; });
  fmt::print("\n{}\n", ready ? "Ready to tune."
                             : "Not ready to tune here: see MISSING above. plan, best and answers "
                               "from recorded results work nevertheless.");
  return ready ? 0 : 1;
}

}  // namespace

void add_doctor(CLI::App& program, Command& chosen) {
  const auto options = std::make_shared<DoctorOptions>();
  CLI::App* command = add_command(program, "doctor");
  command->add_option("--db", options->db, help_text("common", "--db"))
      ->type_name("FILE")
      ->capture_default_str();
  command->add_option("--cache-dir", options->cache_dir, help_text("common", "--cache-dir"))
      ->type_name("FOLDER");
  CLI::Option* hash = command->add_flag("--kernel-hash", options->kernel_hash,
                                        help_text("doctor", "--kernel-hash"));
  command->add_flag("--environment", options->environment, help_text("doctor", "--environment"))
      ->excludes(hash);
  command->callback([&chosen, options] { chosen = [options] { return run_doctor(*options); }; });
}

}  // namespace hgemm::cli
