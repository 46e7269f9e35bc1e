// The words that labels, shapes and space files are written in. Parsers return nullopt for anything
// else; the caller knows the place and says what was expected. For this module, and for store,
// which writes them too.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "space/shape.h"
#include "space/space.h"

namespace hgemm {

/// M, N and K of a problem.
struct Extents {
  int m, n, k;
};

std::string order_word(TileOrder order, int group);
std::string_view schedule_word(Schedule schedule);
std::string_view epilogue_word(Epilogue epilogue);
std::string walk_word(Walk walk, int splits);
std::string_view hint_word(CacheHint hint);
/// The fields that a label has only where they are not the default:
/// "afirst.blast.p128.cta2.pdl.for512x512x512", or nothing.
std::string option_fields(const KernelConfig& config);

/// linear | group<G> | ngroup<G> | snake<G> | nsnake<G> | hilbert
std::optional<Grid::Order> find_order(std::string_view word);
std::optional<Schedule> find_schedule(std::string_view word);  ///< coop | cols | pp
std::optional<Epilogue> find_epilogue(std::string_view word);  ///< direct | tma | staged | late
std::optional<Grid::Deal> find_walk(
    std::string_view word);  ///< persist | dynamic | single | split<S> | csplit<S> | stream
std::optional<CacheHint> find_hint(std::string_view word);         ///< none | first | last
std::optional<bool> find_pdl(std::string_view word);               ///< pdl
std::optional<bool> find_pack(std::string_view word);              ///< pack
std::optional<Extents> find_extents(std::string_view word);        ///< "512x512x512"
std::optional<Dtype> find_dtype(std::string_view word);            ///< bf16 | fp16 | fp32
std::optional<Layout> find_layout(std::string_view word);          ///< TN
std::optional<Grid::Cluster> find_cluster(std::string_view word);  ///< "2x1"

/// Decimal digits and nothing else; nullopt also if the number does not fit.
std::optional<std::int64_t> find_number(std::string_view text);
/// One of at most four digits, as all numbers of a config are.
std::optional<int> find_small_number(std::string_view text);

/// `text` in double quotes, fit for one line of an error message.
std::string in_quotes(std::string_view text);

}  // namespace hgemm
