// RemoteMeasurer and a worker that this test plays: which process serves which shape.
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
      if (request.at("call").get<std::string>() == call::kEnvironment) {
        Environment environment;
        environment.driver = pid;
        reply = environment;
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

Shape some_shape() {
  Shape shape;
  shape.m = shape.n = shape.k = 512;
  return shape;
}

TEST(RemoteMeasurer, EachShapeHasAFreshWorker) {
  RemoteMeasurer measurer{{kThisProgram, "play"}};
  const std::string first = measurer.environment().driver;
  EXPECT_EQ(measurer.open(some_shape(), 1).baselines.front(), first) << "nothing was opened in it";
  const std::string second = measurer.open(some_shape(), 2).baselines.front();
  EXPECT_NE(second, first);
  EXPECT_EQ(measurer.environment().driver, second);
  EXPECT_NE(measurer.open(some_shape(), 3).baselines.front(), second);
}

}  // namespace
}  // namespace hgemm

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  return argc > 2 && std::string(argv[1]) == "play" ? hgemm::play(std::atoi(argv[2]))
                                                    : RUN_ALL_TESTS();
}
