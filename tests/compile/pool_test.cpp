// Children that do not answer as they should cost one request, within its bound. This program plays
// them.
#include "compile/pool.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/channel.h"

namespace hgemm {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;

int play(int fd) {
  Channel channel(fd);
  try {
    for (;;) {
      const auto how = channel.receive().value().get<std::string>();
      if (how == "answer") {
        if (!channel.send(getpid())) return 1;
        continue;
      }
      if (how == "close") close(fd);
      if (how == "stop") raise(SIGSTOP);
      if (how == "print" && send(fd, "a line of text", 14, 0) != 14) return 1;
      if (how == "half" && send(fd, "\x09\0\0\0\0\0\0\0abc", 11, 0) != 11) return 1;
      for (;;) pause();
    }
  } catch (const ChannelClosed&) {
    return 0;
  }
}

/// The answers to these requests.
std::vector<PoolAnswer> ask(const std::vector<std::string>& requests, int children) {
  PoolOptions options;
  options.command = {kThisProgram, "play"};
  options.children = children;
  options.timeout = 500ms;
  options.grace = 100ms;
  std::vector<PoolAnswer> answers(requests.size());
  run_in_children(
      requests.size(), options, [&](std::size_t i) { return json(requests[i]); },
      [&](std::size_t i, PoolAnswer answer) { answers[i] = std::move(answer); });
  return answers;
}

TEST(Pool, AChildThatHangsOrTalksNonsenseCostsOneRequest) {
  for (const int children : {1, 3}) {
    for (const auto& [how, why] :
         {std::pair{"close", "did not end by itself within 100 ms and was killed"},
          {"stop", "killed after 0.5 s"},
          {"half", "killed after 0.5 s"},
          {"hang", "killed after 0.5 s"},
          {"print", "answer was not understood"}}) {
      SCOPED_TRACE(how);
      const auto start = std::chrono::steady_clock::now();
      const std::vector<PoolAnswer> answers = ask({"answer", how, "answer", "answer"}, children);
      EXPECT_LT(std::chrono::steady_clock::now() - start, 15s);
      for (const std::size_t good : {0u, 2u, 3u}) {
        EXPECT_EQ(answers[good].failure, "");
        EXPECT_TRUE(answers[good].message.is_number());
      }
      EXPECT_THAT(answers[1].failure, HasSubstr(why));
    }
  }
}

}  // namespace
}  // namespace hgemm

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  return argc > 2 && std::string(argv[1]) == "play" ? hgemm::play(std::atoi(argv[2]))
                                                    : RUN_ALL_TESTS();
}
