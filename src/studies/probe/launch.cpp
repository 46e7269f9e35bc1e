#include "studies/probe/launch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <variant>

#include "kernels/tiled/tile_scheduler.h"

namespace hgemm {
namespace {

TileGrid grid_of(const TiledConfig& config, const GemmProblem& problem) {
  return tile_grid(static_cast<int>(problem.m), static_cast<int>(problem.n), config);
}

std::int64_t k_blocks_of(const ProbeLaunch& launch) {
  return (launch.problem.k + launch.config.bk - 1) / launch.config.bk;
}

/// Cycles between two low words of the clock: exact below 2^32 cycles.
double between(unsigned from, unsigned to) { return static_cast<double>(to - from); }
double between(unsigned long long from, unsigned long long to) {
  return static_cast<double>(static_cast<long long>(to - from));
}
/// Cycles from the entry of the role's CTA to a low word.
double since_entry(const ProbeRole& role, unsigned stamp) {
  return between(static_cast<unsigned>(role.entry), stamp);
}

/// Sums of cycles, in the order in which they were first added.
class Figures {
 public:
  void add(const char* role, const char* phase, const char* unit, std::int64_t count,
           double cycles) {
    const auto found = std::ranges::find_if(figures_, [&](const CycleFigure& figure) {
      return figure.role == role && figure.phase == phase;
    });
    if (found == figures_.end()) {
      figures_.push_back({role, phase, unit, count, cycles});
    } else {
      found->count += count;
      found->cycles += cycles;
    }
  }
  std::vector<CycleFigure> take() { return std::move(figures_); }

 private:
  std::vector<CycleFigure> figures_;
};

void add_producer(Figures& figures, const ProbeTile& tile, const ProbeLaunch& launch) {
  const char* const role = "producer";
  const std::int64_t k_blocks = k_blocks_of(launch);
  figures.add(role, "order", "tile", 1, tile.phases[producer_phase::kOrder]);
  figures.add(role, "wait_empty", "k_block", k_blocks, tile.phases[producer_phase::kWaitEmpty]);
  figures.add(role, "issue", "k_block", k_blocks, tile.phases[producer_phase::kIssue]);
}

void add_consumer(Figures& figures, const ProbeTile& tile, const ProbeLaunch& launch) {
  const char* const role = "consumer";
  const std::int64_t k_blocks = k_blocks_of(launch);
  const double wait_full = tile.phases[consumer_phase::kWaitFull];
  const double mma_issue = tile.phases[consumer_phase::kMmaIssue];
  const double mma_wait = tile.phases[consumer_phase::kMmaWait];
  const double release = tile.phases[consumer_phase::kRelease];
  const double promote = tile.phases[consumer_phase::kPromote];
  const double epilogue = tile.phases[consumer_phase::kEpilogue];
  const double after_loop = between(tile.store_begin, tile.end);
  figures.add(role, "wait_full", "k_block", k_blocks, wait_full);
  figures.add(role, "mma_issue", "k_block", k_blocks, mma_issue);
  figures.add(role, "mma_wait", "k_block", k_blocks, mma_wait);
  figures.add(role, "release", "k_block", k_blocks, release);
  if (launch.config.promote != 0) figures.add(role, "promote", "k_block", k_blocks, promote);
  figures.add(role, "epilogue", "tile", 1, epilogue);
  figures.add(role, "store", "tile", 1, after_loop - epilogue);
  figures.add("article", "load", "k_block", k_blocks, wait_full);
  figures.add("article", "mma", "k_block", k_blocks, mma_issue + mma_wait + release + promote);
  figures.add("article", "store", "tile", 1, after_loop);
}

void add_role(Figures& figures, const char* name, const ProbeRole& role) {
  figures.add(name, "prologue", "cta", 1, between(role.entry, role.synced));
  figures.add(name, "setmaxnreg", "cta", 1, between(role.synced, role.begin));
  figures.add(name, "total", "cta", 1, between(role.begin, role.end));
  figures.add(name, "drain", "cta", 1, between(role.end, role.finish));
}

/// The largest minus the smallest value.
double spread(const std::map<unsigned, unsigned long long>& by_sm) {
  const auto [low, high] =
      std::ranges::minmax_element(by_sm, {}, [](const auto& entry) { return entry.second; });
  return between(low->second, high->second);
}

void add_cluster_skew(Figures& figures, const ProbeLaunch& launch) {
  const auto ctas = static_cast<std::size_t>(cluster_size(launch.config));
  if (ctas == 1) return;
  const auto roles = static_cast<std::size_t>(probe_roles(launch.config));
  constexpr std::size_t kFirstConsumer = 1;
  for (std::size_t first = 0; first < launch.tiles.size(); first += ctas * roles) {
    double earliest = std::numeric_limits<double>::infinity();
    double latest = -earliest;
    for (std::size_t rank = 0; rank < ctas; ++rank) {
      const ProbeTile& tile = launch.tiles[first + rank * roles + kFirstConsumer];
      const ProbeRole& role =
          launch.roles.at(static_cast<std::size_t>(tile.cta) * roles + kFirstConsumer);
      const double ready = between(static_cast<unsigned>(role.synced), tile.ready);
      earliest = std::min(earliest, ready);
      latest = std::max(latest, ready);
    }
    figures.add("cluster", "skew", "tile", 1, latest - earliest);
  }
}

std::string role_name(std::size_t role) {
  return role == 0 ? "producer" : fmt::format("consumer {}", role - 1);
}

}  // namespace

ProbedConfig with_probe(const KernelConfig& config, const GemmProblem& problem) {
  const auto* tiled = std::get_if<TiledConfig>(&config);
  if (tiled == nullptr) {
    const RuleText rule = rule_text(TiledRule::kProbe);
    return {std::nullopt, {rule.name, "cycle stamps follow kernels of the tiled family only"}};
  }
  TiledConfig probed = *tiled;
  probed.probe = true;
  if (const auto rejection = why_invalid(kernel_for(probed, problem))) {
    return {std::nullopt, *rejection};
  }
  return {probed, {}};
}

double ProbeLaunch::duration_ns() const {
  unsigned long long first = std::numeric_limits<unsigned long long>::max();
  unsigned long long last = 0;
  for (const ProbeRole& role : roles) {
    first = std::min(first, role.entry_ns);
    last = std::max(last, role.finish_ns);
  }
  return between(first, last);
}

double ProbeLaunch::sm_mhz() const {
  double cycles = 0;
  double ns = 0;
  for (const ProbeRole& role : roles) {
    cycles += between(role.entry, role.finish);
    ns += between(role.entry_ns, role.finish_ns);
  }
  return ns > 0 ? cycles / ns * 1e3 : 0;
}

std::size_t probe_tile_records(const TiledConfig& config, const GemmProblem& problem) {
  return static_cast<std::size_t>(grid_of(config, problem).tiles()) *
         static_cast<std::size_t>(cluster_size(config) * probe_roles(config));
}
std::size_t probe_role_records(const TiledConfig& config, int ctas) {
  return static_cast<std::size_t>(ctas) * static_cast<std::size_t>(probe_roles(config));
}

std::string contradiction(const ProbeLaunch& launch) {
  const TiledConfig& config = launch.config;
  const TileGrid grid = grid_of(config, launch.problem);
  const int size = cluster_size(config);
  const int roles = probe_roles(config);
  const int ctas = static_cast<int>(launch.roles.size()) / roles;
  for (std::size_t cta = 0; cta < static_cast<std::size_t>(ctas); ++cta) {
    for (std::size_t role = 0; role < static_cast<std::size_t>(roles); ++role) {
      const ProbeRole& record = launch.roles[cta * static_cast<std::size_t>(roles) + role];
      if (record.finish == 0) {
        return fmt::format("the {} of CTA {} left no record", role_name(role), cta);
      }
      if (record.synced < record.entry || record.begin < record.synced ||
          record.end < record.begin || record.finish < record.end) {
        return fmt::format("the stamps of the {} of CTA {} are out of order", role_name(role), cta);
      }
    }
  }
  std::size_t index = 0;
  for (int position = 0; position < grid.tiles(); ++position) {
    const TileCoord at = tile_at(config.order, config.group, position, grid);
    for (int rank = 0; rank < size; ++rank) {
      const int m = at.m * config.cluster_m + rank % config.cluster_m;
      const int n = at.n * config.cluster_n + rank / config.cluster_m;
      for (int role = 0; role < roles; ++role) {
        const ProbeTile& tile = launch.tiles.at(index++);
        const auto complain = [&](const std::string& what) {
          return fmt::format("tile {} of rank {}, {}: {}", position, rank,
                             role_name(static_cast<std::size_t>(role)), what);
        };
        if (tile.visits != 1) return complain(fmt::format("computed {} times", tile.visits));
        if (tile.m != m || tile.n != n) {
          return complain(
              fmt::format("row {}, column {} of tiles instead of {}, {}", tile.m, tile.n, m, n));
        }
        if (tile.cta < 0 || tile.cta >= ctas || tile.cta % size != rank) {
          return complain(fmt::format("computed by CTA {}", tile.cta));
        }
      }
    }
  }
  return "";
}

std::vector<CycleFigure> cycle_figures(const ProbeLaunch& launch) {
  Figures figures;
  const auto roles = static_cast<std::size_t>(probe_roles(launch.config));
  for (std::size_t i = 0; i < launch.tiles.size(); ++i) {
    const auto add = i % roles == 0 ? add_producer : add_consumer;
    add(figures, launch.tiles[i], launch);
  }
  std::map<unsigned, unsigned long long> first_entry_ns, last_finish_ns;
  for (std::size_t cta = 0; cta < launch.roles.size(); cta += roles) {
    unsigned long long finish = 0;
    for (std::size_t i = 0; i < roles; ++i) {
      const ProbeRole& role = launch.roles[cta + i];
      add_role(figures, i == 0 ? "producer" : "consumer", role);
      finish = std::max(finish, role.finish);
      auto& entry_ns = first_entry_ns.try_emplace(role.sm, role.entry_ns).first->second;
      entry_ns = std::min(entry_ns, role.entry_ns);
      auto& finish_ns = last_finish_ns.try_emplace(role.sm, role.finish_ns).first->second;
      finish_ns = std::max(finish_ns, role.finish_ns);
    }
    figures.add("kernel", "total", "cta", 1, between(launch.roles[cta].entry, finish));
  }
  add_cluster_skew(figures, launch);
  const double cycles_per_ns = launch.sm_mhz() * 1e-3;
  figures.add("sm", "start_spread", "launch", 1, spread(first_entry_ns) * cycles_per_ns);
  figures.add("sm", "finish_spread", "launch", 1, spread(last_finish_ns) * cycles_per_ns);
  figures.add("kernel", "launch", "launch", 1, launch.duration_ns() * cycles_per_ns);
  return figures.take();
}

std::vector<Span> timeline(const ProbeLaunch& launch, int sms) {
  const auto roles = static_cast<std::size_t>(probe_roles(launch.config));
  const double ns_per_cycle = 1e3 / launch.sm_mhz();
  const auto first = std::ranges::min_element(launch.roles, {}, &ProbeRole::entry_ns);
  // The tiles of each role of each CTA, in the order in which it computed them.
  std::map<std::size_t, std::vector<std::size_t>> tiles_of;
  for (std::size_t i = 0; i < launch.tiles.size(); ++i) {
    const auto cta = static_cast<std::size_t>(launch.tiles[i].cta);
    tiles_of[cta * roles + i % roles].push_back(i);
  }

  std::vector<Span> spans;
  for (std::size_t index = 0; index < launch.roles.size(); ++index) {
    const ProbeRole& role = launch.roles[index];
    if (role.sm >= static_cast<unsigned>(sms)) continue;
    const double entry_ns = between(first->entry_ns, role.entry_ns);
    // `from` and `to` are cycles since entry.
    const auto add = [&](const char* phase, int tile, double from, double to) {
      spans.push_back({.sm = static_cast<int>(role.sm),
                       .cta = static_cast<int>(index / roles),
                       .role = role_name(index % roles),
                       .phase = phase,
                       .tile = tile,
                       .start_ns = entry_ns + from * ns_per_cycle,
                       .end_ns = entry_ns + to * ns_per_cycle});
    };
    const double begin = between(role.entry, role.begin);
    const double end = between(role.entry, role.end);
    add("prologue", -1, 0, between(role.entry, role.synced));
    add("setmaxnreg", -1, between(role.entry, role.synced), begin);
    for (const std::size_t i : tiles_of[index]) {
      const ProbeTile& tile = launch.tiles[i];
      const int position = static_cast<int>(i / roles) / cluster_size(launch.config);
      const double tile_begin = since_entry(role, tile.begin);
      const double tile_end = since_entry(role, tile.end);
      if (index % roles == 0) {
        add("load", position, tile_begin, tile_end);
        continue;
      }
      const double ready = since_entry(role, tile.ready);
      add("first_wait", position, tile_begin, ready);
      add("main_loop", position, ready, since_entry(role, tile.loop_end));
      add("epilogue", position, since_entry(role, tile.store_begin), tile_end);
    }
    add("drain", -1, end, between(role.entry, role.finish));
  }
  return spans;
}

}  // namespace hgemm
