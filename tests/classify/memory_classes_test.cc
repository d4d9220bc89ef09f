#include "src/classify/memory_classes.h"

#include <gtest/gtest.h>

#include "tests/datasets/expect_error.h"

namespace foretell::classify {
namespace {

using dataset_test::ExpectError;

TEST(MemoryClasses, BeginAtTheirEdges) {
  const MemoryClasses classes({1000, 2000});
  EXPECT_EQ(classes.size(), 3);
  EXPECT_EQ(classes.ClassOf(0), 0);
  EXPECT_EQ(classes.ClassOf(999.9), 0);
  EXPECT_EQ(classes.ClassOf(1000), 1);
  EXPECT_EQ(classes.ClassOf(2000), 2);
}

TEST(MemoryClasses, PutARunOutOfMemoryLast) {
  EXPECT_EQ(MemoryClasses({1000, 2000}).ClassOf({}), 2);
}

TEST(MemoryClasses, SayTheirRanges) {
  const MemoryClasses classes = MemoryClasses::Parse("8000,16000.5");
  EXPECT_EQ(classes.Name(0), "below 8000 MiB");
  EXPECT_EQ(classes.Name(1), "8000 to 16000.5 MiB");
  EXPECT_EQ(classes.Name(2), "from 16000.5 MiB on");
}

TEST(MemoryClasses, RefuseEdgesThatDoNotRise) {
  const auto parse = [](const char* text) {
    return [text] { MemoryClasses::Parse(text); };
  };
  ExpectError(ErrorCode::kInvalidArgument, "edge of memory classes 1000 MiB",
              parse("2000,1000"));
  ExpectError(ErrorCode::kInvalidArgument, "0 edges", parse(""));
  for (const char* text : {"1000,", ",1000", "1000,x", "1,,2"}) {
    ExpectError(ErrorCode::kInvalidArgument, text, parse(text));
  }
  ExpectError(ErrorCode::kInvalidArgument, "edges rise", parse("1,nan"));
  ExpectError(ErrorCode::kInvalidArgument, "edges rise", parse("0,1"));
}

}  // namespace
}  // namespace foretell::classify
