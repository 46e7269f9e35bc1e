#include "studies/probe/figure.h"

#include <algorithm>
#include <iterator>
#include <variant>
#include <vector>

#include "families/family.h"
#include "gemm/codec.h"
#include "studies/advise/wgmma.h"
#include "studies/ladder/ladder.h"
#include "studies/probe/cycles.h"
#include "studies/probe/table.h"

namespace hgemm {
namespace {

bool is_wanted(const RecordedStudy& recorded) {
  const Study& study = recorded.study;
  return study.kind == kProbeStudy && study.status == Status::kOk && study.problem &&
         !parse_ladder_label(study.label) && !study.figures.empty() && has_stamped_config(study);
}

}  // namespace

Json cycles_section(const report::Known& known) {
  std::vector<RecordedStudy> probes;
  std::ranges::copy_if(known.studies, std::back_inserter(probes), is_wanted);
  if (probes.empty()) {
    return report::missing("No kernel was looked into with cycle stamps.",
                           "hgemm-tune probe --shapes 8192x8192x8192");
  }
  report::Source source;
  Json list = Json::parse(format_probe(probes, Format::kJson));
  for (std::size_t i = 0; i < probes.size(); ++i) {
    source.add(probes[i]);
    const auto config = std::get<TiledConfig>(parse_label(probes[i].study.label));
    const int mma_n = consumer_cols(config);
    const WgmmaForm form{.input = mma_input(*probes[i].study.problem)};
    const int wgmmas =
        config.bm * config.bn / (kMmaM * mma_n) * (config.bk / wgmma_depth(form.input));
    list[i]["shape"] = to_string(*probes[i].study.problem);
    list[i]["mma_cycles_needed"] =
        known.device == nullptr
            ? Json()
            : number(wgmmas * wgmma_cycles(*known.device, form, mma_n).cycles());
  }
  return {{"source", source.json()}, {"probes", list}};
}

}  // namespace hgemm
