// What a probed kernel writes down, laid out alike for host and device: where the cycles of each
// role went, tile by tile. probe.cuh writes it.
//
// Times are low words of the SM's clock unless they say otherwise: a launch must be shorter than
// 2^32 cycles (2.1 s), and within a CTA differences of them are exact.
#pragma once

#include "tiled/config.h"

namespace hgemm {

/// Phases of the producer. They follow one another without a gap from the role's begin on. (Plain
/// enumerations: a constant would leave a variable in every cubin.)
namespace producer_phase {
enum : int {
  kOrder,      ///< finding the next tile; writing the record
  kWaitEmpty,  ///< for consumers to release a stage
  kIssue,      ///< copies
  kCount
};
}

/// Phases of a consumer. The first four follow one another from ProbeTile::begin to loop_end. From
/// store_begin to end, staging (kEpilogue) alternates with storing, which is the rest of that time:
/// waiting for a staging box, issuing its copy; all of it with the direct epilogue. Between
/// loop_end and store_begin, and between tiles, the record is written.
namespace consumer_phase {
enum : int {
  kWaitFull,  ///< for the copies of a stage
  kMmaIssue,  ///< fence, wgmmas, commit
  kMmaWait,   ///< wgmma.wait_group
  kRelease,   ///< telling the producers
  kEpilogue,  ///< accumulators to the output type, into shared memory
  kCount
};
}

/// One tile of one CTA, as one role saw it. Of a consumer warpgroup its first thread speaks.
struct ProbeTile {
  unsigned visits;  ///< how often the tile was computed: 1 if all is well
  int cta;
  int m, n;  ///< in tiles of a CTA
  unsigned begin;
  unsigned ready;        ///< consumer: the tile's first stage had arrived
  unsigned loop_end;     ///< consumer: the last wgmma was done
  unsigned store_begin;  ///< consumer
  unsigned end;
  unsigned phases[consumer_phase::kCount];  ///< cycles in each, summed over the tile
};

/// One role of one CTA. Cycles are whole clock64 values of its SM.
struct ProbeRole {
  unsigned long long entry;   ///< the first instruction of the kernel
  unsigned long long synced;  ///< barriers initialised, the cluster met: the CTAs of a cluster pass
                              ///< here within a few cycles of one another
  unsigned long long begin;   ///< registers moved: the role begins
  unsigned long long end;     ///< the role is over
  unsigned long long finish;  ///< its copies have left, and its cluster needs it no more
  unsigned long long entry_ns, finish_ns;  ///< %globaltimer at entry and finish: common to all SMs
  unsigned sm;
  unsigned unused;
};

/// Role 0 is the producer, 1 and up the consumers.
HGEMM_HOST_DEVICE constexpr int probe_roles(const TiledConfig& c) { return c.consumers + 1; }

/// The probed kernel's second parameter; both arrays start zeroed.
struct ProbeRecords {
  ProbeTile* tiles;  ///< [position in the tile order][rank in the cluster][role]
  ProbeRole* roles;  ///< [CTA][role]
};

}  // namespace hgemm
