#include "studies/micro/module.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

#include "base/console.h"
#include "base/error.h"
#include "program/help.h"
#include "studies/micro/figure.h"
#include "studies/micro/points.h"
#include "studies/micro/run.h"
#include "studies/micro/table.h"

namespace hgemm {
namespace {

class Micro : public StudyModule {
 public:
  std::string_view name() const override { return kMicroStudy; }

  void add_options(CLI::App& command) override {
    command.add_option("--only", only_, cli::help_text("micro", "--only"))
        ->type_name("PATTERN[,...]");
    command.add_flag("--full", full_, cli::help_text("micro", "--full"));
    command.add_flag("--list", list_, cli::help_text("micro", "--list"));
  }

  std::vector<StudyRequest> plan(cli::StudyOptions&) override {
    std::vector<StudyRequest> requests;
    for (const MicroPoint& point : micro_plan(full_, only_).points) {
      requests.push_back({.kind = std::string(kMicroStudy),
                          .label = micro_label(point),
                          .problem = std::nullopt,
                          .sources = {{micro_label(point), micro_source(point)}}});
    }
    return requests;
  }

  bool has_fixed_columns() const override { return false; }
  std::string table(const cli::StudyAnswer& answer, const Style& style) const override {
    return format_micro(answer.studies, style);
  }

  int execute(const cli::StudyOptions& common, const std::string& command_line) override {
    if (!list_) return StudyModule::execute(common, command_line);
    if (common.format != cli::StudyOptions().format) {
      throw InputError("--list prints a label per line in any case; leave --format out");
    }
    return list();
  }

  Study run(const StudyRequest& request, const Cubins& cubins, const Bench& bench) const override {
    return run_micro(request, only_cubin(cubins), bench);
  }

  std::vector<report::Section> sections(const report::Known& known) const override {
    return {{"wgmma", wgmma_section(known)}};
  }

 private:
  int list() const {
    const MicroPlan plan = micro_plan(full_, only_);
    for (const MicroPoint& point : plan.points) fmt::print("{}\n", micro_label(point));
    for (const auto& [label, reason] : plan.left_out) {
      say("left out: {}: {}\n", label, reason);
    }
    return 0;
  }

  std::string only_;
  bool full_ = false;
  bool list_ = false;
};

}  // namespace

std::unique_ptr<StudyModule> micro_module() { return std::make_unique<Micro>(); }

}  // namespace hgemm
