// The records of a probed kernel, with the same layout on host and device: the cycles of each role
// by phase, tile by tile. probe.cuh writes them.
//
// Times are low words of the SM's clock unless stated otherwise. A launch must be shorter than 2^32
// cycles (2.1 s); differences within a CTA are then exact.
#pragma once

#include "tiled/config.h"

namespace hgemm {

/// Phases of the producer; they follow one another without a gap from the beginning of the role.
/// (Plain enumerations, because a constant would leave a variable in every cubin.)
namespace producer_phase {
enum : int {
  kOrder,      ///< finding the next tile; writing the record
  kWaitEmpty,  ///< for consumers to release a stage
  kIssue,      ///< copies
  kCount
};
}

/// Phases of a consumer. All before kEpilogue follow one another from ProbeTile::begin to loop_end.
/// From store_begin to end, staging (kEpilogue) alternates with storing, which is the rest of that
/// time: waiting for a staging box and issuing its copy, or everything with the direct store path.
/// Between loop_end and store_begin, and between tiles, the record is written.
///
/// Scales of blocks belong to the phase in which they are read: those that are loaded for a whole
/// stage to kMmaIssue, because that happens before its wgmmas, and those that are loaded for one
/// group of columns after the other to kPromote. A stage with such scales is released when they
/// have arrived, so what is left to wait for them is in kRelease.
namespace consumer_phase {
enum : int {
  kWaitFull,  ///< for the copies of a stage
  kMmaIssue,  ///< fence, wgmmas, commit
  kMmaWait,   ///< wgmma.wait_group
  kRelease,   ///< telling the producers
  kPromote,  ///< the tensor cores' sums, scaled, added to those in registers (TiledConfig::promote)
  kEpilogue,  ///< accumulators to the output type, into shared memory
  kCount
};
}

/// One tile of one CTA, as one role saw it. A consumer warpgroup's first thread writes it.
struct ProbeTile {
  unsigned visits;  ///< how often the tile was computed; must be 1
  int cta;
  int m, n;  ///< in units of a CTA's tile
  unsigned begin;
  unsigned ready;        ///< consumer: the tile's first stage had arrived
  unsigned loop_end;     ///< consumer: the last wgmma was done
  unsigned store_begin;  ///< consumer
  unsigned end;
  unsigned phases[consumer_phase::kCount];  ///< cycles in each, summed over the tile
};

/// One role of one CTA. Cycles are full 64-bit clock64 values of its SM.
struct ProbeRole {
  unsigned long long entry;  ///< the first instruction of the kernel
  /// Barriers initialised, cluster barrier passed: the CTAs of a cluster pass it within a few
  /// cycles of one another.
  unsigned long long synced;
  unsigned long long begin;  ///< registers moved: the role begins
  unsigned long long end;    ///< the role is over
  /// Its copies have completed, and no CTA of its cluster needs it any more.
  unsigned long long finish;
  unsigned long long entry_ns, finish_ns;  ///< %globaltimer at entry and finish, common to all SMs
  unsigned sm;
  unsigned unused;
};

/// Number of roles: role 0 is the producer, the others are the consumers.
HGEMM_HOST_DEVICE constexpr int probe_roles(const TiledConfig& c) { return c.consumers + 1; }

/// The probed kernel's second parameter; both arrays must be zeroed before the launch.
struct ProbeRecords {
  ProbeTile* tiles;  ///< [position in the tile order][rank in the cluster][role]
  ProbeRole* roles;  ///< [CTA][role]
};

}  // namespace hgemm
