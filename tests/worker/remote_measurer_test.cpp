// RemoteMeasurer and a worker that this test plays: which process serves which problem.
#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/channel.h"
#include "worker/messages.h"
#include "worker/remote.h"

namespace hgemm {
namespace {

using nlohmann::json;

/// Answers with its process id, as driver of its environment and label of its one baseline.
int play(int fd) {
  Channel channel(fd);
  try {
    for (;;) {
      const json request = channel.receive().value();
      const std::string pid = std::to_string(getpid());
      json reply;
      if (request.at("call").get<std::string>() == call::kMachine) {
        Machine machine;
        machine.environment.driver = pid;
        reply = machine;
      } else {
        reply["baselines"] = std::vector<std::string>{pid};
        reply["prepared"] = std::vector<Prepared>(1);
        reply["timing"] = Timing{};
      }
      if (!channel.send({{"ok", reply}})) return 1;
    }
  } catch (const ChannelClosed&) {
    return 0;
  }
}

GemmProblem some_problem() {
  GemmProblem problem;
  problem.m = problem.n = problem.k = 512;
  return problem;
}

TEST(RemoteMeasurer, EachShapeHasAFreshWorker) {
  RemoteMeasurer measurer{{kThisProgram, "play"}};
  const std::string first = measurer.machine().environment.driver;
  EXPECT_EQ(measurer.open(some_problem(), {.seed = 1}).baselines.front(), first)
      << "nothing was opened in it";
  const std::string second = measurer.open(some_problem(), {.seed = 2}).baselines.front();
  EXPECT_NE(second, first);
  EXPECT_EQ(measurer.machine().environment.driver, second);
  EXPECT_NE(measurer.open(some_problem(), {.seed = 3}).baselines.front(), second);
}

}  // namespace
}  // namespace hgemm

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  return argc > 2 && std::string(argv[1]) == "play" ? hgemm::play(std::atoi(argv[2]))
                                                    : RUN_ALL_TESTS();
}
