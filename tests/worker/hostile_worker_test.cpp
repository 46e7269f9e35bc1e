// Workers that hang, stop, or talk nonsense, whatever the reason: each costs one call, within its
// bound, and the next call has another worker. This test plays them.
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "base/channel.h"
#include "worker/messages.h"
#include "worker/remote.h"

namespace hgemm {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;
using std::chrono::steady_clock;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

[[noreturn]] void sleep_on() {
  for (;;) pause();
}

/// Past the channel; blocks while nobody reads.
void send_bytes(int fd, const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) _exit(4);
    sent += static_cast<std::size_t>(count);
  }
}

std::string length_of(std::uint64_t size) {
  std::string bytes(sizeof size, '\0');
  std::memcpy(bytes.data(), &size, sizeof size);
  return bytes;
}

void say(Channel& channel, const json& message) {
  if (!channel.send(message)) _exit(4);
}

json step(double expected_ms) {
  return {
      {"step",
       Step{.doing = "the launch", .label = "subject", .alone = true, .expected_ms = expected_ms}}};
}

void misbehave(const std::string& how, Channel& channel) {
  const int fd = channel.fd();
  if (how == "closes its socket and sleeps") {
    close(fd);
    sleep_on();
  }
  if (how == "closes its socket, then ends") {
    close(fd);
    usleep(100'000);
    _exit(3);
  }
  if (how == "sleeps") sleep_on();
  if (how == "ignores signals") {
    for (int number = 1; number < 32; ++number) signal(number, SIG_IGN);
    sleep_on();
  }
  if (how == "stops") raise(SIGSTOP);
  if (how == "half a length") {
    send_bytes(fd, "abc");
    sleep_on();
  }
  if (how == "half a message") {
    send_bytes(fd, length_of(100) + "abc");
    sleep_on();
  }
  if (how == "a message without end") {
    send_bytes(fd, length_of(250 << 20));
    for (;;) send_bytes(fd, "x"), usleep(1000);
  }
  if (how == "steps without end") {
    for (;;) say(channel, step(1));
  }
  if (how == "a step that takes for ever") {
    say(channel, step(1e300));
    sleep_on();
  }
  if (how == "printed text") send_bytes(fd, "terminate called after throwing an instance");
  if (how == "a huge length") send_bytes(fd, length_of(std::uint64_t{1} << 60));
  if (how == "bytes that are no CBOR") send_bytes(fd, length_of(3) + "\xff\xff\xff");
  if (how == "a deep message") send_bytes(fd, length_of(4 << 20) + std::string(4 << 20, '\x81'));
  if (how == "a number") say(channel, 42);
  if (how == "nothing known") say(channel, {{"fine", true}});
  if (how == "an odd step") say(channel, {{"step", 42}});
  if (how == "an odd error") say(channel, {{"error", 42}, {"kind", "input"}});
  if (how == "an error of no kind") say(channel, {{"error", "text"}});
  if (how == "an odd answer") say(channel, {{"ok", "text"}});
  if (how == "an unknown word") {
    json prepared = Prepared{};
    prepared["status"] = "splendid";
    say(channel, {{"ok", prepared}});
  }
  if (how == "no time") {
    Prepared prepared;
    prepared.estimate_us = std::nan("");
    say(channel, {{"ok", prepared}});
  }
  if (how == "too few samples") say(channel, {{"ok", std::vector<std::vector<Sample>>(1)}});
  if (how == "no rounds") say(channel, {{"ok", std::vector<std::vector<Sample>>()}});
  if (how == "samples of no time") {
    Sample sample;
    sample.time_us = std::numeric_limits<double>::infinity();
    say(channel, {{"ok", std::vector(1, std::vector(1, sample))}});
  }
  sleep_on();
}

/// What a request can carry: a cubin, labels, or a label.
std::string behaviour_of(const json& request) {
  if (request.contains("cubin")) return request.at("cubin").at("path");
  return request.contains("labels") ? request.at("labels").at(0) : request.at("label");
}

/// The worker.
int play(int fd) {
  Channel channel(fd);
  try {
    for (;;) {
      const json request = channel.receive().value();
      if (request.at("call") == call::kMachine) {
        Machine machine;
        machine.environment.driver = std::to_string(getpid());
        say(channel, {{"ok", machine}});
      } else if (request.at("call") == call::kOpen || request.at("call") == call::kStudy) {
        sleep_on();
      } else {
        misbehave(behaviour_of(request), channel);
      }
    }
  } catch (const ChannelClosed&) {
    return 0;
  }
}

class HostileWorker : public testing::Test {
 protected:
  struct Loss {
    Status status = Status::kOk;
    std::string what, culprit;
  };
  template <class Call>
  Loss lose(Call call) {
    const auto start = steady_clock::now();
    const std::string before = measurer_.machine().environment.driver;
    Loss loss;
    try {
      call();
      ADD_FAILURE() << "not lost";
    } catch (const MeasurerLost& lost) {
      loss = {lost.status, lost.what(), lost.culprit};
    }
    // A fraction of what 50 times the bounds would be, and far more than a busy machine needs.
    EXPECT_LT(steady_clock::now() - start, 12s);
    EXPECT_THAT(loss.what, Not(HasSubstr("json")));
    EXPECT_NE(measurer_.machine().environment.driver, before) << "no other worker";
    return loss;
  }
  /// energy() is whatever has a label and nothing else.
  Loss lose_by(const std::string& how) {
    return lose([&] { static_cast<void>(measurer_.energy(how)); });
  }

  RemoteMeasurer measurer_{{kThisProgram, "play"},
                           {.step = 300ms, .longest_step = 400ms, .request = 1s, .end = 300ms}};
};

TEST_F(HostileWorker, ThatClosedItsSocketAndHangsIsKilled) {
  const Loss loss = lose_by("closes its socket and sleeps");
  EXPECT_EQ(loss.status, Status::kCrashed);
  EXPECT_EQ(loss.what,
            "the worker process ended during energy: it did not end by itself within 300 ms and "
            "was killed");
}

TEST_F(HostileWorker, ThatEndsSoonAfterItsSocketTellsHow) {
  EXPECT_THAT(lose_by("closes its socket, then ends").what, HasSubstr("exit code 3"));
}

TEST_F(HostileWorker, ThatSaysNothingIsKilledAtItsDeadline) {
  for (const char* how :
       {"sleeps", "ignores signals", "stops", "half a length", "half a message"}) {
    SCOPED_TRACE(how);
    const Loss loss = lose_by(how);
    EXPECT_EQ(loss.status, Status::kTimedOut);
    EXPECT_EQ(loss.what, "energy did not end within 300 ms: the worker was killed");
  }
}

TEST(SilentWorker, IsWaitedForAsLongAsItsRequestMayTakeAndNoLonger) {
  const WorkerLimits limits{.start = 500ms, .open = 200ms};
  GemmProblem problem;
  problem.m = problem.n = problem.k = 1 << 12;  // launches of up to 137 ms
  RemoteMeasurer measurer({kThisProgram, "play"}, limits);
  EXPECT_THAT([&] { measurer.open(problem, {.seed = 1}); },
              ThrowsMessage<MeasurerLost>("open did not end within 837 ms: the worker was killed"));
  RemoteLab lab({kThisProgram, "play"}, limits);
  StudyRequest request;
  request.problem = problem;
  EXPECT_THAT([&] { lab.run(request, {}); },
              ThrowsMessage<MeasurerLost>("study did not end within 337 ms: the worker was "
                                          "killed"));
}

TEST_F(HostileWorker, ThatTalksWithoutEndIsKilledAtItsDeadline) {
  EXPECT_THAT(lose_by("a message without end").what, HasSubstr("energy did not end within 300 ms"));
  const Loss loss = lose_by("steps without end");
  EXPECT_EQ(loss.status, Status::kTimedOut);
  EXPECT_THAT(loss.what, HasSubstr("the launch of subject did not end within"));
  EXPECT_THAT(lose_by("a step that takes for ever").what,
              HasSubstr("the launch of subject did not end within 400 ms"));
}

TEST_F(HostileWorker, ThatMakesNoSenseIsLost) {
  for (const char* how :
       {"printed text", "a huge length", "bytes that are no CBOR", "a deep message", "a number",
        "nothing known", "an odd step", "an odd error", "an error of no kind", "an odd answer"}) {
    SCOPED_TRACE(how);
    const Loss loss = lose_by(how);
    EXPECT_EQ(loss.status, Status::kCrashed);
    EXPECT_EQ(loss.what, "the worker's reply during energy was not understood: it was killed");
  }
}

TEST_F(HostileWorker, AnswersThatNobodyCouldGoOnWithAreNone) {
  for (const std::string how : {"too few samples", "no rounds", "samples of no time"}) {
    SCOPED_TRACE(how);
    EXPECT_THAT(lose([&] {
                  measurer_.rounds({&how, 1}, Pace::kShared);
                }).what,
                HasSubstr("the worker's reply during rounds was not understood"));
  }
  Build build;
  for (const char* how : {"an unknown word", "no time"}) {
    SCOPED_TRACE(how);
    build.cubin.path = how;
    EXPECT_THAT(lose([&] { measurer_.prepare(build); }).what,
                HasSubstr("the worker's reply during prepare was not understood"));
  }
}

}  // namespace
}  // namespace hgemm

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  return argc > 2 && std::string(argv[1]) == "play" ? hgemm::play(std::atoi(argv[2]))
                                                    : RUN_ALL_TESTS();
}
