// The order of output tiles, and the assignment of work to clusters: maps a position in the tile
// order to tile coordinates, and a cluster to its pieces of work.
//
// Pure integer functions for host and device, so that a CPU test can check that every order visits
// every tile of any grid exactly once, and every scheduler every k block.
#pragma once

#include "common/tiles.h"
#include "tiled/config.h"

namespace hgemm {

/// The output in tiles of a whole cluster: cluster_m * bm rows by cluster_n * bn columns.
HGEMM_HOST_DEVICE inline TileGrid tile_grid(int m, int n, const TiledConfig& c) {
  return {ceil_div(m, c.bm * c.cluster_m), ceil_div(n, c.bn * c.cluster_n)};
}

/// Bands of `group` rows of the grid, swept along N; within a band, down the rows first. A wave
/// then covers a block of about group x (SMs / group) tiles; the closer it is to a square, the
/// fewer distinct bytes it reads. A snake sweeps every second band backwards, so that a band begins
/// with the columns of B that the previous band read last.
HGEMM_HOST_DEVICE inline TileCoord grouped_tile(int index, TileGrid grid, int group,
                                                bool snake = false) {
  const int band_tiles = group * grid.n;
  const int band = index / band_tiles;
  const int within = index - band * band_tiles;
  const int rows_left = grid.m - band * group;
  const int rows = rows_left < group ? rows_left : group;
  const int column = within / rows;
  const bool backwards = snake && band % 2 != 0;
  return {band * group + within % rows, backwards ? grid.n - 1 - column : column};
}

HGEMM_HOST_DEVICE inline int magnitude(int a) { return a < 0 ? -a : a; }
HGEMM_HOST_DEVICE inline int direction(int a) { return a < 0 ? -1 : 1; }
/// Half of a side, rounded away from zero to an even length, because parts of even length join
/// without a diagonal step.
HGEMM_HOST_DEVICE inline int even_half(int a) {
  const int half = a / 2;
  return half % 2 != 0 && magnitude(a) > 2 ? half + direction(a) : half;
}

/// A Hilbert curve over any rectangle: every run of consecutive tiles is compact, at every scale,
/// so one order suits every wave size. The recursion is that of the generalised curve by J. Cerveny
/// ("gilbert"): a block travelled along side a, with side b across, is cut in two if it is long;
/// otherwise it is cut into a part up along b, a part along a, and a part down again. Here the
/// recursion follows one index down to one tile. It uses no table and few registers, because the
/// producer warp has only 32 per thread.
HGEMM_HOST_DEVICE inline TileCoord hilbert_tile(int index, TileGrid grid) {
  TileCoord at = {0, 0};
  bool a_along_n = grid.n >= grid.m;  // b is along the other axis
  int a = a_along_n ? grid.n : grid.m;
  int b = a_along_n ? grid.m : grid.n;
  while (magnitude(a) > 1 && magnitude(b) > 1) {
    int move_a = 0;
    int move_b = 0;
    bool turn = false;
    if (2 * magnitude(a) > 3 * magnitude(b)) {
      const int half = even_half(a);
      const int first = magnitude(half * b);
      if (index < first) {
        a = half;
      } else {
        index -= first;
        move_a = half;
        a -= half;
      }
    } else {
      const int b_half = even_half(b);
      const int up = magnitude(a / 2 * b_half);
      const int along = magnitude(a * (b - b_half));
      turn = index < up || index >= up + along;
      if (index >= up) {
        index -= up;
        move_b = b_half;
        if (!turn) b -= b_half;
      }
      if (turn) {  // the side that was across becomes the direction of travel
        const bool down = move_b != 0;
        if (down) {
          index -= along;
          move_a = a - direction(a);
          move_b -= direction(b);
        }
        b = down ? a / 2 - a : a / 2;
        a = down ? -b_half : b_half;
      }
    }
    (a_along_n ? at.n : at.m) += move_a;
    (a_along_n ? at.m : at.n) += move_b;
    if (turn) a_along_n = !a_along_n;
  }
  // One line of tiles is left.
  const bool along_a = magnitude(b) == 1;
  (along_a == a_along_n ? at.n : at.m) += direction(along_a ? a : b) * index;
  return at;
}

/// The tile at position `index` of the order, 0 <= index < grid.tiles().
HGEMM_HOST_DEVICE inline TileCoord tile_at(TileOrder order, int group, int index, TileGrid grid) {
  const bool snake = order == TileOrder::kSnakeRows || order == TileOrder::kSnakeColumns;
  switch (order) {
    case TileOrder::kLinear:
      break;
    case TileOrder::kGroupedRows:
    case TileOrder::kSnakeRows:
      return grouped_tile(index, grid, group, snake);
    case TileOrder::kGroupedColumns:
    case TileOrder::kSnakeColumns: {
      const TileCoord transposed = grouped_tile(index, {grid.n, grid.m}, group, snake);
      return {transposed.n, transposed.m};
    }
    case TileOrder::kHilbert:
      return hilbert_tile(index, grid);
  }
  return linear_tile(index, grid);
}

// ---- Assignment of work to clusters ----

/// K blocks [first, end) of the tile at position `tile` of the order.
///
/// Parts of a tile that is cut in the workspace are left there, each in a slot of its own. The
/// slots of one tile are ordered along K, so that the sum does not depend on which part is done
/// first. Streamed tiles: the cluster with the last block of a tile leaves nothing; it adds up and
/// stores.
struct Work {
  int tile;
  int first, end;
  int slot;   ///< slot for the sums, or the first slot of a streamed tile to add
  int parts;  ///< slots of the tile to add; -1: only leave the sums
};

/// Parts into which a tile is cut (kSplitK). They wait for one another, so there are at most as
/// many as clusters that are resident at once.
HGEMM_HOST_DEVICE inline int split_parts(const TiledConfig& c, int k_blocks, int clusters) {
  const int parts = k_blocks < c.splits ? k_blocks : c.splits;
  return parts < clusters ? parts : clusters;
}

/// A cut in the sequence of all k blocks of the streamed tiles: `k` blocks into `tile`.
struct StreamCut {
  int tile, k;
};
/// Start of the share of cluster `index` of `clusters`.
HGEMM_HOST_DEVICE inline StreamCut stream_cut(int index, int clusters, int tiles, int k_blocks) {
  const int scaled = index * tiles;
  const int tile = scaled / clusters;
  const int rest = scaled - tile * clusters;
  // rest * k_blocks / clusters, which could exceed 32 bits.
  const int whole = k_blocks / clusters;
  return {tile, rest * whole + rest * (k_blocks - whole * clusters) / clusters};
}

/// The work of one cluster of a launch: `count` pieces, in this order. If the CTAs of a cluster are
/// the parts of a tile (kClusterSplitK), this is the work of its CTA number `part`, which may have
/// no k block.
///
/// A cluster that adds up a tile reaches it after the parts that it waits for have begun: streamed
/// parts are done before everything else and in descending order. Split parts are done in ascending
/// order, and a cluster leaves its part before it waits for the others of the tile, which follow
/// only tiles that are complete. So no two clusters wait for each other. All clusters must be
/// resident, because an adder that fills its SM waits for CTAs that may need that SM.
struct WorkList {
  int cluster, clusters, tiles, k_blocks;
  bool cut;  ///< whether all tiles are cut into `splits` parts
  /// Whether the same part of all tiles comes before the next part, so that the clusters of a GPC,
  /// which have neighbouring pieces, read the same k blocks. Only if each cluster has one piece:
  /// otherwise clusters could wait for each other.
  bool parts_first = false;
  int splits;
  KRange whole;      ///< k blocks of a tile that is not cut in the workspace
  int streamed = 0;  ///< number of tiles, the first of the order, shared among `sharers` clusters
  int sharers = 0;
  StreamCut begin{}, end{};  ///< of this cluster's share
  int shares = 0;            ///< pieces of work in that share
  int count = 0;

  HGEMM_HOST_DEVICE WorkList(const TiledConfig& c, int this_cluster, int launched_clusters,
                             int grid_tiles, int blocks, int part = 0)
      : cluster(this_cluster),
        clusters(launched_clusters),
        tiles(grid_tiles),
        k_blocks(blocks),
        cut(shares_sums(c)),
        splits(cut ? split_parts(c, blocks, launched_clusters) : 1),
        whole(part_of_k(blocks, part, adds_in_cluster(c) ? c.splits : 1)) {
    if (c.scheduler == TileScheduler::kStreamK && tiles % clusters != 0) {
      streamed = tiles < clusters ? tiles : tiles % clusters + clusters;
      sharers = clusters;
      const long long fewest = 1LL * streamed * k_blocks / kMinStreamBlocks;
      if (fewest < sharers) sharers = fewest < 1 ? 1 : static_cast<int>(fewest);
      if (cluster < sharers) {
        begin = stream_cut(cluster, sharers, streamed, k_blocks);
        end = stream_cut(cluster + 1, sharers, streamed, k_blocks);
        shares = end.tile - begin.tile + (end.k > 0 ? 1 : 0);
      }
    }
    const int units = (tiles - streamed) * splits;
    parts_first = cut && c.gpc && units <= clusters;
    count = shares + (units > cluster ? (units - cluster + clusters - 1) / clusters : 0);
  }

  HGEMM_HOST_DEVICE Work at(int index) const {
    if (index >= shares) {
      const int unit = cluster + (index - shares) * clusters;
      if (!cut) return {streamed + unit, whole.first, whole.end, 0, 0};
      int tile = unit / splits;
      int part = unit - tile * splits;
      int slot = unit;
      if (parts_first) {
        part = unit / tiles;
        tile = unit - part * tiles;
        slot = tile * splits + part;
      }
      const int blocks = k_blocks / splits;  // the first `longer` parts have one more
      const int longer = k_blocks - blocks * splits;
      const int first = part * blocks + (part < longer ? part : longer);
      return {tile, first, first + blocks + (part < longer ? 1 : 0), slot, splits};
    }
    const int tile = end.tile - (end.k > 0 ? 0 : 1) - index;
    const int first = tile == begin.tile ? begin.k : 0;
    if (tile == end.tile) return {tile, first, end.k, cluster, -1};
    if (first == 0) return {tile, 0, k_blocks, 0, 0};
    // The cluster in whose share the tile begins. Cuts are rounded down, so the estimated cluster's
    // share may end exactly where the tile begins.
    int opener = tile * sharers / streamed;
    const StreamCut next = stream_cut(opener + 1, sharers, streamed, k_blocks);
    if (next.tile < tile || (next.tile == tile && next.k == 0)) ++opener;
    return {tile, first, k_blocks, opener, cluster - opener};
  }
};

/// Clusters that fit on the SMs that a launch uses (TiledConfig::sms). `resident`: on all SMs.
HGEMM_HOST_DEVICE inline int clusters_on_sms(const TiledConfig& c, long long tiles, int resident) {
  if (c.sms == kAllSms || tiles == 0 || resident == 0) return resident;
  if (c.sms != kFewestSms) {
    const int most = c.sms / cluster_size(c);
    return most < resident ? most : resident;
  }
  const long long waves = (tiles + resident - 1) / resident;
  return static_cast<int>((tiles + waves - 1) / waves);
}

/// Number of clusters to launch for `pieces` pieces of work, if the GPU holds `resident` at once.
///
/// With PDL and two CTAs per SM: whole layers of CTAs, which an idle GPU distributes one to each
/// SM, although some have no work. Each layer then leaves one free place on every SM. With fewer
/// CTAs, two CTAs of the next kernel would share an SM and take twice as long (512^3: 3.15 us
/// against 2.87 with one CTA per SM; in layers 2.55 against 2.80). Not if K is cut, because shares
/// are made for the existing number of clusters.
HGEMM_HOST_DEVICE inline int grid_clusters(const TiledConfig& c, long long pieces, int resident) {
  const int clusters = pieces < resident ? static_cast<int>(pieces) : resident;
  const int layer = resident / c.ctas_per_sm;
  if (!c.pdl || c.ctas_per_sm == 1 || adds_in_workspace(c) || layer == 0) return clusters;
  const int whole_layers = ceil_div(clusters, layer) * layer;
  return whole_layers < resident ? whole_layers : resident;
}

/// Slots of the workspace that a launch needs.
HGEMM_HOST_DEVICE inline long long partial_slots(const TiledConfig& c, int clusters, int tiles,
                                                 int k_blocks) {
  if (!adds_in_workspace(c)) return 0;
  return shares_sums(c) ? 1LL * tiles * split_parts(c, k_blocks, clusters) : clusters;
}
/// Flags of each warp that a launch needs: one for each slot of streamed tiles, two for each tile
/// that is cut evenly (tiled/split_sums.cuh).
HGEMM_HOST_DEVICE inline long long partial_flags(const TiledConfig& c, int clusters, int tiles) {
  if (!adds_in_workspace(c)) return 0;
  return shares_sums(c) ? 2LL * tiles : clusters;
}

}  // namespace hgemm
