#include "src/core/bytes.h"

#include <gtest/gtest.h>

#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

TEST(Bytes, BringNumbersAndTextsBack) {
  ByteWriter writer;
  writer.Number(2.5);
  writer.Text(std::string("a\0b", 3));
  writer.Number(std::uint8_t{7});
  const std::string message = writer.Take();
  ByteReader reader(message);
  EXPECT_EQ(reader.Number<double>(), 2.5);
  EXPECT_EQ(reader.Text(), std::string("a\0b", 3));
  EXPECT_EQ(reader.Number<std::uint8_t>(), 7);
}

TEST(Bytes, ShowATextWhereItLies) {
  ByteWriter writer;
  writer.Text("text");
  writer.Number(std::uint8_t{7});
  const std::string message = writer.Take();
  ByteReader reader(message);
  const std::string_view text = reader.View();
  EXPECT_EQ(text, "text");
  EXPECT_EQ(text.data(), message.data() + sizeof(std::uint64_t));
  EXPECT_EQ(reader.left(), 1);
}

TEST(Bytes, RefuseAMessageThatEndsEarly) {
  ByteReader reader("abc");
  ExpectError([&reader] { reader.Number<std::uint64_t>(); },
              ErrorCode::kInternal, "3 bytes left, expected 8");
}

}  // namespace
}  // namespace foretell
