#include "src/core/channel.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <stdexcept>
#include <thread>

#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

/// Puts `bytes` on the stream as they are.
void WriteRaw(const Channel& channel, std::string_view bytes) {
  ASSERT_EQ(write(channel.end().number(), bytes.data(), bytes.size()),
            std::ssize(bytes));
}

TEST(Channel, KeepsMessagesApart) {
  auto [one, other] = MakeChannel();
  EXPECT_TRUE(one.Send("first"));
  EXPECT_TRUE(one.Send(""));
  EXPECT_TRUE(one.Send(std::string("a\0b", 3)));
  EXPECT_EQ(other.Receive(), "first");
  EXPECT_EQ(other.Receive(), "");
  EXPECT_EQ(other.Receive(), std::string("a\0b", 3));
}

TEST(Channel, CarriesBothWays) {
  auto [one, other] = MakeChannel();
  one.Send("ask");
  other.Send("answer");
  EXPECT_EQ(other.Receive(), "ask");
  EXPECT_EQ(one.Receive(), "answer");
}

TEST(Channel, TakesAMessageWholeThatIsLargerThanItsBuffers) {
  auto [one, other] = MakeChannel();
  const std::string large(5'000'000, 'x');
  std::thread sender([&one = one, &large] { EXPECT_TRUE(one.Send(large)); });
  EXPECT_EQ(other.Receive(), large);
  sender.join();
}

TEST(Channel, CutsOffWhoAnnouncesMoreThanIsTaken) {
  auto [one, other] = MakeChannel();
  other.LimitMessages(4);
  one.Send("four");
  one.Send("fives");
  EXPECT_EQ(other.Receive(), "four");
  EXPECT_EQ(other.Receive(), std::nullopt);
  EXPECT_TRUE(other.is_closed());
  EXPECT_EQ(other.offence(),
            "announced a message of 5 bytes, expected at most 4");
}

TEST(Channel, LimitsErrorsWhateverMessagesMayBe) {
  auto [one, other] = MakeChannel();
  one.SendError(Error(ErrorCode::kCorrupt, std::string(1'000'000, 'e')));
  try {
    other.Receive();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_LE(std::ssize(std::string(error.what())), Channel::kMostErrorBytes);
    EXPECT_TRUE(std::string_view(error.what()).ends_with("…"));
  }
  const std::int64_t length = Channel::kMostErrorBytes + 1;
  std::string header(1, '\1');
  header.append(reinterpret_cast<const char*>(&length), sizeof(length));
  WriteRaw(one, header);
  EXPECT_EQ(other.Receive(), std::nullopt);
  EXPECT_TRUE(other.is_closed());
}

TEST(Channel, DoesNotWaitForWhoDoesNotListen) {
  auto [one, other] = MakeChannel();
  EXPECT_FALSE(one.Send(std::string(50'000'000, 'x'), Deadline::In(0.05)));
}

TEST(Channel, DoesNotWaitPastItsDeadline) {
  auto [one, other] = MakeChannel();
  EXPECT_EQ(other.Receive(Deadline::In(0)), std::nullopt);
  EXPECT_FALSE(other.is_closed());
  one.Send("late");
  EXPECT_EQ(other.Receive(Deadline::In(0)), "late");
}

TEST(Channel, ThrowsTheOtherEndsErrors) {
  auto [one, other] = MakeChannel();
  one.SendError(Error(ErrorCode::kCorrupt, "model.onnx: no nodes"));
  one.SendError(std::runtime_error("out of luck"));
  ExpectError([&other = other] { other.Receive(); }, ErrorCode::kCorrupt,
              "model.onnx: no nodes");
  ExpectError([&other = other] { other.Receive(); }, ErrorCode::kInternal,
              "out of luck");
}

TEST(Channel, GivesNothingOfHalfAMessage) {
  auto [one, other] = MakeChannel();
  WriteRaw(one, std::string("\0\5\0\0\0\0\0\0\0hel", 12));
  EXPECT_EQ(other.Receive(Deadline::In(0)), std::nullopt);
  EXPECT_FALSE(other.is_closed());
  { const Channel gone = std::move(one); }
  EXPECT_EQ(other.Receive(), std::nullopt);
  EXPECT_TRUE(other.is_closed());
}

TEST(Channel, CutsOffWhoAnnouncesTooMuch) {
  auto [one, other] = MakeChannel();
  WriteRaw(one, std::string("\0\xff\xff\xff\xff\xff\xff\xff\x7f", 9));
  EXPECT_EQ(other.Receive(), std::nullopt);
  EXPECT_TRUE(other.is_closed());
}

TEST(Channel, SendsNothingToAClosedEnd) {
  auto [one, other] = MakeChannel();
  { const Channel gone = std::move(other); }
  EXPECT_FALSE(one.Send("anybody?"));
}

}  // namespace
}  // namespace foretell
