#include "base/channel.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cmath>
#include <limits>
#include <thread>

namespace hgemm {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

TEST(Channel, CarriesWhatTextJsonCannot) {
  auto [here, there] = Channel::make_pair();
  const std::string bytes("\x7f\0\xff\xfe", 4);
  ASSERT_TRUE(here.send({{"bytes", bytes}, {"nan", std::nan("")}, {"big", 1.0 / 3.0}}));
  const json message = there.receive().value();
  EXPECT_EQ(message.at("bytes").get<std::string>(), bytes);
  EXPECT_TRUE(std::isnan(message.at("nan").get<double>()));
  EXPECT_EQ(message.at("big").get<double>(), 1.0 / 3.0);
}

TEST(Channel, KeepsMessagesApartAndInOrder) {
  auto [here, there] = Channel::make_pair();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(here.send(i));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(there.receive().value(), i);
}

TEST(Channel, CarriesMoreThanASocketBuffer) {
  auto [here, there] = Channel::make_pair();
  const json message = std::string(5 << 20, 'x');
  std::jthread sender([&here = here, &message] { EXPECT_TRUE(here.send(message)); });
  EXPECT_EQ(there.receive(), message);
}

TEST(Channel, ReceiveGivesUpAtTheDeadlineAndCanBeAskedAgain) {
  auto [here, there] = Channel::make_pair();
  const auto start = steady_clock::now();
  EXPECT_EQ(there.receive(start + milliseconds(50)), std::nullopt);
  EXPECT_GE(steady_clock::now() - start, milliseconds(50));
  ASSERT_TRUE(here.send("late"));
  EXPECT_EQ(there.receive().value(), "late");
}

TEST(Channel, ADeadlineInsideAMessageLosesNothing) {
  auto [here, there] = Channel::make_pair();
  // One byte of the length, then the rest.
  auto [recorder, record] = Channel::make_pair();
  ASSERT_TRUE(recorder.send("whole"));
  char bytes[64];
  const auto size = static_cast<std::size_t>(recv(record.fd(), bytes, sizeof bytes, 0));
  ASSERT_EQ(send(here.fd(), bytes, 1, 0), 1);
  EXPECT_EQ(there.receive(steady_clock::now() + milliseconds(10)), std::nullopt);
  ASSERT_EQ(send(here.fd(), bytes + 1, size - 1, 0), static_cast<ssize_t>(size - 1));
  EXPECT_EQ(there.receive().value(), "whole");
}

TEST(Channel, SendGivesUpAtTheDeadline) {
  auto [here, there] = Channel::make_pair();
  const json more_than_fits = std::string(64 << 20, 'x');
  EXPECT_FALSE(here.send(more_than_fits, steady_clock::now() + milliseconds(50)));
}

TEST(Channel, SaysThatTheOtherEndIsGone) {
  auto [here, there] = Channel::make_pair();
  ASSERT_TRUE(there.send("last words"));
  { Channel dropped = std::move(there); }
  EXPECT_EQ(here.receive().value(), "last words");
  EXPECT_THROW(static_cast<void>(here.receive()), ChannelClosed);
  EXPECT_THROW(static_cast<void>(here.send("anyone?")), ChannelClosed);
}

TEST(Channel, RefusesWhatIsNotAMessage) {
  auto [here, there] = Channel::make_pair();
  ASSERT_EQ(send(here.fd(), "printed text", 12, 0), 12);
  EXPECT_THROW(static_cast<void>(there.receive()), NotAMessage);
}

TEST(Channel, AMessageWithoutEndIsLeftAtTheDeadline) {
  auto [here, there] = Channel::make_pair();
  std::jthread sender([&here = here](const std::stop_token& stop) {
    // A length of 200 MiB, and then bytes for as long as someone takes them.
    const std::string length("\0\0\x80\x0c\0\0\0\0", 8), bytes(1 << 16, 'x');
    EXPECT_EQ(send(here.fd(), length.data(), length.size(), 0), 8);
    while (!stop.stop_requested()) {
      send(here.fd(), bytes.data(), 1 << 10, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
  });
  EXPECT_EQ(there.receive(steady_clock::now() + milliseconds(50)), std::nullopt);
}

TEST(ParseMessage, GivesBackWhatCborHolds) {
  const json value = {{"list", {1, 2.5, "three", nullptr}}, {"deep", {{"er", {true}}}}};
  const auto bytes = json::to_cbor(value);
  EXPECT_EQ(parse_message({reinterpret_cast<const char*>(bytes.data()), bytes.size()}), value);
}

TEST(ParseMessage, RefusesAnythingElseWithoutRecursingIntoIt) {
  using std::string;
  for (const string& bytes : {string(), string("\xff"), string("\x81"), string("\x18"),
                              string("\x00\x00", 2), string("\x9b\xff\xff\xff\xff\xff\xff\xff\xff"),
                              string("\x7b\xff\xff\xff\xff\xff\xff\xff\xff"), string("\x62\xc3", 2),
                              string("\xa1\x01\x02"), string(100, '\x81') + "\x01",
                              string(16 << 20, '\x81'), string(16 << 20, '\x9f')}) {
    EXPECT_THROW(parse_message(bytes), NotAMessage) << bytes.size();
  }
  string objects;
  for (int i = 0; i < 1'000'000; ++i) objects += "\xa1\x61x";
  EXPECT_THROW(parse_message(objects), NotAMessage);
}

}  // namespace
}  // namespace hgemm
