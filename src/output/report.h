// The data of a report as one JSON document: all data that analysis/report.py draws, so that the
// script never opens a database.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "output/report_parts.h"
#include "search/devices.h"
#include "search/space.h"
#include "store/store.h"

namespace hgemm {

/// Recordings that a report is compared with.
struct ReportBefore {
  std::vector<RecordedRace> races;
  std::string name;  ///< for people
};

struct ReportInput {
  std::vector<RecordedRace> races;     ///< races that `best` answers from, oldest first
  std::vector<RecordedRace> spaces;    ///< races of whole spaces; empty: `races` are all there is
  std::vector<RecordedStudy> studies;  ///< studies of every kind
  std::vector<Device> devices;         ///< all known devices; the report finds its own by name
  Space space;                         ///< the full space: shows what a race left out
  std::vector<std::string> databases;  ///< names for people, at least one
  std::optional<ReportBefore> before;
  std::string command_line;
};

/// A report covers one GPU model: the one with the newest race or study. It only names the others.
///
///   schema        2; a reader refuses others
///   revision      of the program; command, created_utc, databases: the origin of the report
///   gpu           as the driver names it, null if the databases are empty; other_gpus: left out
///   device        its figures in configs/devices.yaml: name peak_tflops peak_fp8_tflops
///                 memory_tbps read_tbps sms, each with <name>_source, and ridge fp8_ridge;
///                 null if it is not there
///   best          rows, ceilings               the best config of each shape
///   configs       labels axes races            all configs of the races behind the rows
///   comparison    null, or what `compare --format json` says (output/emit.h) of the recordings
///                 before and these; names (of the two). Its rows have shape, group
///   sustained     one race at full load: shape power_limit_w candidates
///   ladder        ladders                      from a naive kernel to the fastest
///   cycles        probes                       where a kernel's cycles go
///   wgmma         devices, measured            cycles of an instruction by N
///   tile_order    grid orders l2 recorded      the order of the tiles
///   tiles         spaces                       the best config of each tile size
///   search        strategies                   result of a search by its amount of measuring:
///                                              replayed on races with hundreds of configs
///
/// `best` and the entries from `sustained` on are objects with a `source`. Without recordings such
/// an object has only `missing` (a sentence that says what was not recorded) and `how` (the command
/// that records it). A source has `environments` (in words), `dates` ("2026-11-20 to 2026-11-22"),
/// `regimes`, `kernels` (the short hashes of their sources) and `commands` (as they were recorded,
/// without repetition).
///
/// best.rows: the objects of `best --format json` (output/emit.h), and group (the tag before '/'),
/// operand_bits (16 or 8), intensity (FLOP per byte of A, B and D, each once), cublas_tflops,
/// cublaslt_tflops, stage, kernel (short hash of its sources), started_utc, race (its place in
/// configs.races; null if it is not there), levels. A shape and regime has a row for each PDL kind
/// (`pdl`) with a measured config; the row is the best of that kind. `levels` lists each of off,
/// safe and weights for which the row is the best when no kind beyond it is allowed. So the rows
/// with `weights` are the answers of `best`. best.ceilings, for each regime and operand_bits that
/// have rows: regime, operand_bits, sm_mhz (median of the rows that the tensor cores bound), tflops
/// (rate of the tensor cores for such operands at that clock), shapes (number of these rows).
/// best.read_tbps with read_source: the measured ceiling of the memory, null if there is none.
///
/// configs.labels: every label that a race has, once. configs.axes: for each axis by name (the axes
/// of the families, where pdl is the PDL kind; family; tile, which is bm and bn) its values in
/// order, and `of`: for each label the place of its value, -1 where its family lacks the axis.
/// configs.races: winner (of this race alone), command, measured (configs that were timed),
/// not_timed (how many, by status), and columns with an entry for each config, fastest first:
/// config (its place in labels), speed (cublas' time over its own, null without cublas; for configs
/// that were not measured to the end as defined in results/speeds.h), time_us and sm_mhz (medians
/// of its samples), final (1: measured to the end), low, high (95 % interval of speed; null if not
/// final), tie (1: cannot be told from the winner). A race with more than configs.most_of_race
/// configs is thinned to that number: one half are the fastest configs, and the other half are
/// taken from the rest, evenly by rank.
///
/// sustained.candidates: who ("ours", "cublas", "cublaslt"), label, samples of round pace launches
/// time_us sm_mhz power_w temperature_c.
///
/// ladder.ladders: family, m n k dtype, regime, cublas_tflops, steps: the objects of `ladder
/// --format json` (studies/ladder/table.h), from the bottom to the top, of which the last may have
/// another dtype.
///
/// cycles.probes: the objects of `probe --format json` (studies/probe/table.h) that ended ok, for
/// configs, and mma_cycles_needed: the cycles that the wgmmas of a k block take by the model (null
/// without a device).
///
/// wgmma.devices: name, this_gpu, threshold (null: none up to 256), and n, read, compute, lists of
/// one length, for A in shared memory; wgmma.measured: n cycles a_in_registers, bf16 on this GPU.
///
/// tile_order: m n k, tile_m tile_n (of a cluster), rows columns (of the grid), clusters (at work
/// at a time); orders: name, positions (row by row, when each tile comes), wave_bytes (bytes of A
/// and B that a wave of clusters reads, the mean over the waves); l2: label, order, hit_rate (%)
/// for each count at that shape; recorded (null without a timeline): label, order, m n k, rows
/// columns, cells of row column position sms start_us end_us.
///
/// tiles.space: the name of a space. tiles.spaces has an object for each shape and regime, in
/// descending order of configs: m n k dtype group regime configs (number measured) valid (number
/// that the space has for that shape) best, cells of bm bn fraction (of the best speed) label
/// configs. There is a cell for every tile that was measured or that the space has; its fraction
/// and label are null where no config of the tile was timed.
///
/// search.strategies, all strategies that can be replayed with a budget: name, points of budget
/// (share of the space) seeds (number of seeds that the medians are over) measured (mean share)
/// geomean least (of best_fraction over the rows); search.rows: the number of races.
///
/// `study_sections` makes the entries ladder, cycles, wgmma and tile_order (studies/registry.h).
using StudySections = std::function<std::vector<report::Section>(const report::Known&)>;
std::string report_data(const ReportInput& input, const StudySections& study_sections);

}  // namespace hgemm
