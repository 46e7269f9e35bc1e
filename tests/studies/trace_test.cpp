#include "studies/probe/trace.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

namespace hgemm {
namespace {

std::vector<Span> spans_of_test() {
  return {
      {.sm = 1,
       .cta = 4,
       .role = "producer",
       .phase = "load",
       .tile = 7,
       .start_ns = 1000,
       .end_ns = 3500},
      {.sm = 1,
       .cta = 4,
       .role = "consumer 0",
       .phase = "main_loop",
       .tile = 7,
       .start_ns = 1500,
       .end_ns = 4000},
      {.sm = 1,
       .cta = 4,
       .role = "consumer 0",
       .phase = "drain",
       .start_ns = 4000,
       .end_ns = 4250.5},
      {.sm = 0,
       .cta = 2,
       .role = "producer",
       .phase = "load",
       .tile = 3,
       .start_ns = 0,
       .end_ns = 125},
  };
}

TEST(ChromeTrace, IsWhatItWas) {
  std::ifstream file(HGEMM_SOURCE_DIR "/tests/studies/trace.json", std::ios::binary);
  ASSERT_TRUE(file);
  const std::string golden(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(chrome_trace(spans_of_test(), "a \"title\""), golden);
}

TEST(ChromeTrace, NamesEveryThreadThatHasEvents) {
  const auto trace = nlohmann::json::parse(chrome_trace(spans_of_test(), "t"));
  std::set<std::pair<int, int>> named, used;
  for (const auto& event : trace.at("traceEvents")) {
    const std::pair<int, int> thread{event.at("pid").get<int>(), event.at("tid").get<int>()};
    if (event.at("ph") == "X") used.insert(thread);
    if (event.at("name") == "thread_name") named.insert(thread);
  }
  EXPECT_EQ(used.size(), 3u);
  EXPECT_EQ(named, used);
}

// CTAs that an SM holds at the same time must not lie on top of one another; one that comes later
// takes the place of one that has left.
TEST(ChromeTrace, CtasOfAnSmAtTheSameTimeHaveThreadsOfTheirOwn) {
  std::vector<Span> spans;
  for (int cta = 0; cta < 3; ++cta) {
    const double start_ns = cta == 2 ? 1000 : 10 * cta;
    spans.push_back({.sm = 0,
                     .cta = cta,
                     .role = "producer",
                     .phase = "load",
                     .start_ns = start_ns,
                     .end_ns = start_ns + 500});
  }
  std::vector<int> threads;
  const auto trace = nlohmann::json::parse(chrome_trace(spans, "t"));
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X") threads.push_back(event.at("tid").get<int>());
  }
  ASSERT_EQ(threads.size(), 3u);
  EXPECT_NE(threads[0], threads[1]);
  EXPECT_EQ(threads[0], threads[2]);
}

TEST(ChromeTrace, OfNothingIsStillATrace) {
  const auto trace = nlohmann::json::parse(chrome_trace({}, "t"));
  EXPECT_TRUE(trace.at("traceEvents").is_array());
}

}  // namespace
}  // namespace hgemm
