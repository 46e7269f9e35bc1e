// The include graph is one-way: each layer sees only what stands below it, and no folder sees
// itself through another one. The order and the exceptions are data; the rules are tried on made-up
// files first, then on the real ones.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/architecture/sources.h"

namespace hgemm {
namespace {

namespace fs = std::filesystem;
using test::Sources;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Strings = std::vector<std::string>;

/// A layer may include itself and what stands before it. A layer is a folder of src/ with what is
/// below it, but for those that have their own rows in layer_of(). `search` is pure logic on
/// trials. `compile` to `worker` are the CUDA half, `store` to `output` the half that runs without
/// CUDA; `tune` drives both through interfaces that are free of it.
const Strings kOrder = {
    "kernels", "base",           "gemm",       "families", "bundle",  "record",        "search",
    "compile", "launch",         "device",     "worker",   "store",   "results",       "tune",
    "sweep",   "output",         "package",    "runtime",  "studies", "study figures", "study runs",
    "program", "study commands", "study list", "cli",      "main"};

/// Layers that must build and run where there is no CUDA, and what else they may see: interfaces
/// that are free of it.
const std::set<std::string> kCoreLayers = {"base",   "gemm",    "families",     "bundle", "record",
                                           "search", "store",   "results",      "tune",   "sweep",
                                           "output", "studies", "study figures"};
const std::set<std::string> kInterfacesForCore = {"compile/compiler.h", "device/measurer.h",
                                                  "worker/lab.h", "device/protocol.h"};
const std::set<std::string> kCudaHalf = {"compile", "launch", "device", "worker", "study runs"};

/// Third-party headers (by pattern) and the only layers that may include them.
struct Reserved {
  std::string what;
  std::regex header;
  std::set<std::string> layers;
};
const std::vector<Reserved> kReserved = {
    {"SQL", std::regex("SQLiteCpp/.*|sqlite3.*"), {"store"}},
    {"YAML", std::regex("yaml-cpp/.*"), {"base", "search"}},
    {"argv", std::regex("CLI/.*"), {"program", "study commands", "study list", "cli", "main"}},
    {"CUDA",
     std::regex("(cuda|cublas|nvrtc|nvml|cupti).*"),
     {"compile", "launch", "device", "study runs", "package", "runtime"}},
};

/// The layer of a file in src/studies or src/studies/<kind>: what a kind is about, how its findings
/// are shown, how it is measured, its command, or the list of all kinds.
std::string layer_of_study(const std::string& stem) {
  static const std::set<std::string> kFigures = {"table", "figure"};
  static const std::set<std::string> kCommands = {"answer", "listing", "module", "request",
                                                  "tuned"};
  if (stem == "run" || stem.starts_with("run_")) return "study runs";
  if (stem == "registry") return "study list";
  if (kFigures.contains(stem)) return "study figures";
  return kCommands.contains(stem) ? "study commands" : "studies";
}

/// "kernels" of kernels/common/ptx.cuh, "store" of src/store/open.h, "main" of src/main/main.cpp.
std::string layer_of(const std::string& path) {
  const fs::path in_src = path.starts_with("src/") ? path.substr(4) : path;
  const std::string stem = in_src.stem().string();
  if (!in_src.has_parent_path()) return stem;
  const std::string first = in_src.begin()->string();
  if (first == "studies") return layer_of_study(stem);
  // Runs on the device's side, of this program and of packages.
  if (first == "families" && (stem == "launch" || stem == "launch_parts")) return "launch";
  return first;
}

/// What must not see itself through others: a layer's part of a folder. A family's folder is a part
/// of families, to which it is known by name.
std::string node_of(const std::string& path) {
  const std::string layer = layer_of(path);
  if (layer == "families" || layer == "launch") return layer;
  return fmt::format("{} of {}", layer, fs::path(path).parent_path().string());
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
  // kernels/ is an include folder, too: NVRTC knows its headers by their paths below it.
  for (const std::string& path : {beside, "src/" + header, header, "kernels/" + header}) {
    if (sources.contains(path)) return path;
  }
  return "";
}

Strings violations_of(const std::string& path, const std::string& text, const Sources& sources) {
  const auto rank = [](const std::string& layer) {
    return std::find(kOrder.begin(), kOrder.end(), layer) - kOrder.begin();
  };
  const std::string layer = layer_of(path);
  if (rank(layer) == static_cast<std::ptrdiff_t>(kOrder.size())) {
    return {fmt::format("{}: layer {} has no place in the order", path, layer)};
  }
  Strings found;
  const Includes includes = includes_of(text);
  Strings foreign = includes.angled;
  for (const std::string& header : includes.quoted) {
    const std::string target = resolve(path, header, sources);
    if (target.empty()) {
      foreign.push_back(header);
      continue;
    }
    const std::string other = layer_of(target);
    if (rank(other) > rank(layer)) {
      found.push_back(
          fmt::format("{}: includes {}, but {} stands above {}", path, header, other, layer));
    }
    if (kCoreLayers.contains(layer) && kCudaHalf.contains(other) &&
        !kInterfacesForCore.contains(header)) {
      found.push_back(fmt::format("{}: includes {} of the CUDA half", path, header));
    }
  }
  for (const std::string& header : foreign) {
    for (const Reserved& reserved : kReserved) {
      if (std::regex_match(header, reserved.header) && !reserved.layers.contains(layer)) {
        found.push_back(
            fmt::format("{}: includes {}; {} is not for {}", path, header, reserved.what, layer));
      }
    }
  }
  return found;
}

Strings violations(const Sources& sources) {
  Strings found;
  for (const auto& [path, text] : sources) {
    std::ranges::move(violations_of(path, text, sources), std::back_inserter(found));
  }
  return found;
}

/// "a -> b -> a" for each way in which parts of folders include one another in a circle: one for
/// each include that closes one.
Strings circles(const Sources& sources) {
  std::map<std::string, std::set<std::string>> includes;
  for (const auto& [path, text] : sources) {
    for (const std::string& header : includes_of(text).quoted) {
      const std::string target = resolve(path, header, sources);
      if (!target.empty() && node_of(target) != node_of(path)) {
        includes[node_of(path)].insert(node_of(target));
      }
    }
  }
  Strings found, trail;
  std::set<std::string> done;
  const auto visit = [&](const auto& self, const std::string& node) -> void {
    const auto seen = std::ranges::find(trail, node);
    if (seen != trail.end()) {
      found.push_back(fmt::format("{} -> {}", fmt::join(seen, trail.end(), " -> "), node));
      return;
    }
    if (done.contains(node)) return;
    trail.push_back(node);
    for (const std::string& other : includes[node]) self(self, other);
    trail.pop_back();
    done.insert(node);
  };
  for (const auto& [path, text] : sources) visit(visit, node_of(path));
  return found;
}

/// Core files from which a CUDA header can be reached over any number of includes.
Strings core_files_that_reach_cuda(const Sources& sources) {
  const std::regex& cuda = kReserved.back().header;
  std::map<std::string, bool> reaches;
  const auto visit = [&](const auto& self, const std::string& path) -> bool {
    if (const auto known = reaches.find(path); known != reaches.end()) return known->second;
    reaches[path] = false;  // ends a cycle
    const Includes includes = includes_of(sources.at(path));
    bool result = std::ranges::any_of(
        includes.angled, [&](const std::string& header) { return std::regex_match(header, cuda); });
    for (const std::string& header : includes.quoted) {
      const std::string target = resolve(path, header, sources);
      result |= target.empty() ? std::regex_match(header, cuda) : self(self, target);
    }
    return reaches[path] = result;
  };
  Strings found;
  for (const auto& [path, text] : sources) {
    if (kCoreLayers.contains(layer_of(path)) && visit(visit, path)) found.push_back(path);
  }
  return found;
}

const Sources& project_sources() {
  static const char* const kFolders[] = {"src", "kernels", "package", "runtime"};
  static const Sources sources = test::sources_in(kFolders);
  return sources;
}

TEST(IncludeGraph, RulesCatchWhatTheyAreFor) {
  EXPECT_THAT(
      violations({{"src/base/error.h", ""}, {"src/store/a.cpp", "#include \"base/error.h\""}}),
      IsEmpty());
  EXPECT_THAT(violations({{"src/base/a.h", "#pragma once\n#include \"results/best.h\"\n"},
                          {"src/results/best.h", ""}}),
              ElementsAre(HasSubstr("results stands above base")));
  EXPECT_THAT(
      violations({{"src/store/a.cpp", "#include \"device/cuda.h\""}, {"src/device/cuda.h", ""}}),
      ElementsAre(HasSubstr("CUDA half")));
  EXPECT_THAT(violations({{"src/output/a.cpp", "#include \"families/launch.h\""},
                          {"src/families/launch.h", ""}}),
              ElementsAre(HasSubstr("CUDA half")));
  EXPECT_THAT(violations({{"src/tune/a.cpp", "#include \"device/measurer.h\""},
                          {"src/device/measurer.h", ""}}),
              IsEmpty());
  EXPECT_THAT(violations({{"src/results/a.cpp", "#include <SQLiteCpp/SQLiteCpp.h>\n"}}),
              ElementsAre(HasSubstr("SQL is not for results")));
  EXPECT_THAT(violations({{"src/tune/a.cpp", "  #  include <CLI/CLI.hpp>\n"}}),
              ElementsAre(HasSubstr("argv is not for tune")));
  EXPECT_THAT(violations({{"src/worker/a.cpp", "#include <cuda_runtime_api.h>\n"}}),
              ElementsAre(HasSubstr("CUDA is not for worker")));
  EXPECT_THAT(violations({{"kernels/tiled/a.cuh", "#include <cuda_bf16.h>\n"}}),
              ElementsAre(HasSubstr("CUDA is not for kernels")));
  EXPECT_THAT(violations({{"kernels/studies/micro/a.cuh", "#include \"cuda_core.cuh\"\n"},
                          {"kernels/cuda_core.cuh", ""}}),
              IsEmpty());
  EXPECT_THAT(violations({{"kernels/studies/ladder/a.cuh", "#include \"cuda_bf16.h\"\n"}}),
              ElementsAre(HasSubstr("CUDA is not for kernels")));
  EXPECT_THAT(violations({{"src/unheard_of/a.h", ""}}), ElementsAre(HasSubstr("no place")));
  EXPECT_THAT(core_files_that_reach_cuda({{"src/tune/a.cpp", "#include \"device/measurer.h\""},
                                          {"src/device/measurer.h", "#include \"b.h\""},
                                          {"src/device/b.h", "#include <cuda.h>"}}),
              ElementsAre("src/tune/a.cpp"));
}

TEST(IncludeGraph, StudiesHaveLayersOfTheirOwn) {
  const auto includes = [](const std::string& from, const std::string& header) {
    return violations(
        {{"src/studies/" + from, "#include \"" + header + "\""}, {"src/" + header, ""}});
  };
  EXPECT_THAT(includes("micro/module.cpp", "program/help.h"), IsEmpty());
  EXPECT_THAT(includes("micro/points.cpp", "program/help.h"),
              ElementsAre(HasSubstr("program stands above studies")));
  EXPECT_THAT(includes("micro/run_memory.cpp", "device/cuda.h"), IsEmpty());
  EXPECT_THAT(includes("micro/table.cpp", "device/cuda.h"), ElementsAre(HasSubstr("CUDA half")));
  EXPECT_THAT(includes("micro/points.cpp", "studies/micro/table.h"),
              ElementsAre(HasSubstr("study figures stands above studies")));
  EXPECT_THAT(includes("answer.cpp", "studies/registry.h"),
              ElementsAre(HasSubstr("study list stands above study commands")));
}

TEST(IncludeGraph, CirclesAreFound) {
  EXPECT_THAT(circles({{"src/studies/micro/points.h", "#include \"studies/probe/cycles.h\""},
                       {"src/studies/probe/cycles.h", ""},
                       {"src/studies/probe/launch.h", "#include \"studies/micro/points.h\""}}),
              ElementsAre("studies of src/studies/micro -> studies of src/studies/probe -> "
                          "studies of src/studies/micro"));
  EXPECT_THAT(circles({{"src/studies/micro/points.h", "#include \"studies/probe/cycles.h\""},
                       {"src/studies/probe/cycles.h", ""},
                       {"src/studies/probe/figure.cpp", "#include \"studies/micro/points.h\""}}),
              IsEmpty());
}

TEST(IncludeGraph, ProjectFollowsTheOrder) {
  ASSERT_GT(project_sources().size(), 50u) << "the sources were not found";
  EXPECT_THAT(violations(project_sources()), IsEmpty());
}

TEST(IncludeGraph, NoFolderSeesItselfThroughAnother) {
  EXPECT_THAT(circles(project_sources()), IsEmpty());
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
}  // namespace hgemm
