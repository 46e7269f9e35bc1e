// The include graph is one-way: each stage sees only what stands before it. The order and the
// exceptions are data; the rules are tried on made-up files first, then on the real ones.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Strings = std::vector<std::string>;
using Sources = std::map<std::string, std::string>;  // path in the project -> text

/// A module may include itself and what stands before it. `search` is pure logic on trials.
/// `compile` to `worker` are the CUDA half, `store` to `emit` the half that runs without CUDA;
/// `tune` drives both through compile/compiler.h and measure/measurer.h.
const Strings kOrder = {"kernels", "base",    "statistics", "space",   "trial",   "study",
                        "search",  "compile", "gpu",        "problem", "measure", "bench",
                        "worker",  "store",   "model",      "best",    "compare", "replay",
                        "emit",    "export",  "tune",       "cli",     "main"};

/// Modules that must build and run where there is no CUDA, and what else they may see: interfaces
/// that are free of it.
const std::set<std::string> kCoreModules = {"base",   "statistics", "space",  "trial", "study",
                                            "search", "store",      "model",  "best",  "compare",
                                            "replay", "emit",       "export", "tune"};
const std::set<std::string> kInterfacesForCore = {"compile/compiler.h", "measure/measurer.h",
                                                  "measure/protocol.h"};
const std::set<std::string> kCudaHalf = {"compile", "gpu", "problem", "measure", "bench", "worker"};

/// Third-party headers (by pattern) and the only modules that may include them.
struct Reserved {
  std::string what;
  std::regex header;
  std::set<std::string> modules;
};
const std::vector<Reserved> kReserved = {
    {"SQL", std::regex("SQLiteCpp/.*|sqlite3.*"), {"store"}},
    {"argv", std::regex("CLI/.*"), {"cli", "main"}},
    {"CUDA",
     std::regex("(cuda|cublas|nvrtc|nvml|cupti).*"),
     {"compile", "gpu", "problem", "measure", "bench"}},
};

constexpr std::ptrdiff_t kMaxLines = 700;
const std::set<std::string> kGenerated = {"kernels/wgmma.cuh"};

/// "kernels" of kernels/ptx.cuh, "store" of src/store/open.h, "main" of src/main.cpp.
std::string module_of(const std::string& path) {
  const fs::path in_src = path.starts_with("src/") ? path.substr(4) : path;
  return in_src.has_parent_path() ? in_src.begin()->string() : in_src.stem().string();
}

struct Includes {
  Strings quoted, angled;
};
Includes includes_of(const std::string& text) {
  static const std::regex kInclude(R"re((?:^|\n)[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"])re");
  Includes includes;
  for (std::sregex_iterator it(text.begin(), text.end(), kInclude), end; it != end; ++it) {
    ((*it)[1] == "\"" ? includes.quoted : includes.angled).push_back((*it)[2]);
  }
  return includes;
}

/// The file that `header` names when `from` includes it; empty if it is not one of ours.
std::string resolve(const std::string& from, const std::string& header, const Sources& sources) {
  const std::string beside = (fs::path(from).parent_path() / header).lexically_normal().string();
  for (const std::string& path : {beside, "src/" + header, header}) {
    if (sources.contains(path)) return path;
  }
  // The folders of kernels/ name what they include by its path below kernels/, as NVRTC knows it.
  if (from.starts_with("kernels/") && sources.contains("kernels/" + header)) {
    return "kernels/" + header;
  }
  return "";
}

Strings violations(const Sources& sources) {
  Strings found;
  const auto rank = [](const std::string& module) {
    return std::find(kOrder.begin(), kOrder.end(), module) - kOrder.begin();
  };
  for (const auto& [path, text] : sources) {
    const std::string module = module_of(path);
    if (rank(module) == static_cast<std::ptrdiff_t>(kOrder.size())) {
      found.push_back(fmt::format("{}: module {} has no place in the order", path, module));
      continue;
    }
    const Includes includes = includes_of(text);
    Strings foreign = includes.angled;
    for (const std::string& header : includes.quoted) {
      const std::string target = resolve(path, header, sources);
      if (target.empty()) {
        foreign.push_back(header);
        continue;
      }
      const std::string other = module_of(target);
      if (rank(other) > rank(module)) {
        found.push_back(
            fmt::format("{}: includes {}, but {} stands after {}", path, header, other, module));
      }
      if (kCoreModules.contains(module) && kCudaHalf.contains(other) &&
          !kInterfacesForCore.contains(header)) {
        found.push_back(fmt::format("{}: includes {} of the CUDA half", path, header));
      }
    }
    for (const std::string& header : foreign) {
      for (const Reserved& reserved : kReserved) {
        if (std::regex_match(header, reserved.header) && !reserved.modules.contains(module)) {
          found.push_back(fmt::format("{}: includes {}; {} is not for {}", path, header,
                                      reserved.what, module));
        }
      }
    }
    if (!kGenerated.contains(path) && std::count(text.begin(), text.end(), '\n') > kMaxLines) {
      found.push_back(fmt::format("{}: has more than {} lines", path, kMaxLines));
    }
  }
  return found;
}

/// Core files from which a CUDA header can be reached over any number of includes.
Strings core_files_that_reach_cuda(const Sources& sources) {
  std::map<std::string, bool> reaches;
  const auto visit = [&](const auto& self, const std::string& path) -> bool {
    if (const auto known = reaches.find(path); known != reaches.end()) return known->second;
    reaches[path] = false;  // ends a cycle
    const Includes includes = includes_of(sources.at(path));
    bool result = std::ranges::any_of(includes.angled, [](const std::string& header) {
      return std::regex_match(header, kReserved.back().header);
    });
    for (const std::string& header : includes.quoted) {
      const std::string target = resolve(path, header, sources);
      result |=
          target.empty() ? std::regex_match(header, kReserved.back().header) : self(self, target);
    }
    return reaches[path] = result;
  };
  Strings found;
  for (const auto& [path, text] : sources) {
    if (kCoreModules.contains(module_of(path)) && visit(visit, path)) found.push_back(path);
  }
  return found;
}

Sources project_sources() {
  static const std::set<std::string> kExtensions = {".h", ".cpp", ".cuh", ".cu"};
  const fs::path root = HGEMM_SOURCE_DIR;
  Sources sources;
  for (const char* folder : {"src", "kernels"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!kExtensions.contains(entry.path().extension().string())) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      sources[entry.path().lexically_relative(root).string()] =
          std::string(std::istreambuf_iterator<char>(file), {});
    }
  }
  return sources;
}

TEST(IncludeGraph, RulesCatchWhatTheyAreFor) {
  EXPECT_THAT(
      violations({{"src/base/error.h", ""}, {"src/store/a.cpp", "#include \"base/error.h\""}}),
      IsEmpty());
  EXPECT_THAT(violations({{"src/base/a.h", "#pragma once\n#include \"best/best.h\"\n"},
                          {"src/best/best.h", ""}}),
              ElementsAre(HasSubstr("best stands after base")));
  EXPECT_THAT(
      violations({{"src/store/a.cpp", "#include \"gpu/probe.h\""}, {"src/gpu/probe.h", ""}}),
      ElementsAre(HasSubstr("CUDA half")));
  EXPECT_THAT(violations({{"src/tune/a.cpp", "#include \"measure/measurer.h\""},
                          {"src/measure/measurer.h", ""}}),
              IsEmpty());
  EXPECT_THAT(violations({{"src/best/a.cpp", "#include <SQLiteCpp/SQLiteCpp.h>\n"}}),
              ElementsAre(HasSubstr("SQL is not for best")));
  EXPECT_THAT(violations({{"src/tune/a.cpp", "  #  include <CLI/CLI.hpp>\n"}}),
              ElementsAre(HasSubstr("argv is not for tune")));
  EXPECT_THAT(violations({{"kernels/a.cuh", "#include <cuda_bf16.h>\n"}}),
              ElementsAre(HasSubstr("CUDA is not for kernels")));
  EXPECT_THAT(violations({{"kernels/micro/a.cuh", "#include \"cuda_core.cuh\"\n"},
                          {"kernels/cuda_core.cuh", ""}}),
              IsEmpty());
  EXPECT_THAT(violations({{"kernels/ladder/a.cuh", "#include \"cuda_bf16.h\"\n"}}),
              ElementsAre(HasSubstr("CUDA is not for kernels")));
  EXPECT_THAT(violations({{"src/unheard_of/a.h", ""}}), ElementsAre(HasSubstr("no place")));
  EXPECT_THAT(violations({{"src/base/long.cpp", std::string(701, '\n')}}),
              ElementsAre(HasSubstr("more than 700 lines")));
  EXPECT_THAT(core_files_that_reach_cuda({{"src/tune/a.cpp", "#include \"measure/measurer.h\""},
                                          {"src/measure/measurer.h", "#include \"b.h\""},
                                          {"src/measure/b.h", "#include <cuda.h>"}}),
              ElementsAre("src/tune/a.cpp"));
}

TEST(IncludeGraph, ProjectFollowsTheOrder) {
  const Sources sources = project_sources();
  ASSERT_GT(sources.size(), 50u) << "the sources were not found";
  EXPECT_THAT(violations(sources), IsEmpty());
}

TEST(IncludeGraph, CoreNeverReachesCuda) {
  EXPECT_THAT(core_files_that_reach_cuda(project_sources()), IsEmpty());
}

TEST(IncludeGraph, KernelHeadersStandAlone) {
  for (const auto& [path, text] : project_sources()) {
    if (!path.starts_with("kernels/")) continue;
    EXPECT_THAT(includes_of(text).angled, IsEmpty())
        << path << ": NVRTC has no system headers, and an export must build anywhere";
  }
}

}  // namespace
