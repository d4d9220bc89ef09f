#include "foretell/error.h"

#include <gtest/gtest.h>

#include "src/core/failure.h"

namespace foretell {
namespace {

TEST(Error, KeepsItsCodeWhenContextIsAdded) {
  const Error inner(ErrorCode::kCorrupt, "line 3: no type");
  const Error outer = WithContext("model.onnx", inner);
  EXPECT_EQ(outer.code(), ErrorCode::kCorrupt);
  EXPECT_STREQ(outer.what(), "model.onnx: line 3: no type");
}

TEST(Error, IsOneLineThatCannotSteerATerminal) {
  const Error error(ErrorCode::kCorrupt, "node 'a\nb\x1b[2J': \xff");
  EXPECT_STREQ(error.what(), R"(node 'a\x0ab\x1b[2J': \xff)");
  EXPECT_STREQ(WithContext("c\n", error).what(),
               R"(c\x0a: node 'a\x0ab\x1b[2J': \xff)");
}

TEST(Error, IsFormattedByTheFunctionOfItsCode) {
  const Error error = Corrupt("{}: line {}: no type", "model.onnx", 3);
  EXPECT_EQ(error.code(), ErrorCode::kCorrupt);
  EXPECT_STREQ(error.what(), "model.onnx: line 3: no type");
  EXPECT_EQ(InvalidArgument("").code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(NotFound("").code(), ErrorCode::kNotFound);
  EXPECT_EQ(Unsupported("").code(), ErrorCode::kUnsupported);
  EXPECT_EQ(IoFailure("").code(), ErrorCode::kIo);
  EXPECT_EQ(InternalFailure("").code(), ErrorCode::kInternal);
}

TEST(Error, HasAStableNamePerCode) {
  EXPECT_EQ(ErrorCodeName(ErrorCode::kInvalidArgument), "invalid_argument");
  EXPECT_EQ(ErrorCodeName(ErrorCode::kNotFound), "not_found");
  EXPECT_EQ(ErrorCodeName(ErrorCode::kCorrupt), "corrupt");
  EXPECT_EQ(ErrorCodeName(ErrorCode::kUnsupported), "unsupported");
  EXPECT_EQ(ErrorCodeName(ErrorCode::kIo), "io");
  EXPECT_EQ(ErrorCodeName(ErrorCode::kInternal), "internal");
}

}  // namespace
}  // namespace foretell
