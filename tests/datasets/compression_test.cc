#include "datasets/store/compression.h"

#include <gtest/gtest.h>

#include <string>

#include "expect_error.h"

namespace foretell::dataset {
namespace {

using dataset_test::ExpectError;

TEST(Unpack, InvertsPack) {
  for (const std::string& bytes :
       {std::string(), std::string("a"), std::string(100'000, 'x')}) {
    const PackedBlob blob = Pack(bytes);
    EXPECT_EQ(blob.raw_bytes, std::ssize(bytes));
    EXPECT_EQ(Unpack(blob.data, blob.raw_bytes), bytes);
  }
}

TEST(Unpack, RefusesAnotherSizeThanPromised) {
  const PackedBlob blob = Pack("sixteen letters!");
  for (const std::int64_t wrong : {15, 17, 0, -1}) {
    ExpectError(ErrorCode::kCorrupt, "does not unpack to",
                [&] { Unpack(blob.data, wrong); });
  }
}

TEST(Unpack, RefusesAPromiseThatNoStreamCanKeep) {
  const PackedBlob blob = Pack("sixteen letters!");
  ExpectError(ErrorCode::kCorrupt, "1099511627776",
              [&] { Unpack(blob.data, std::int64_t{1} << 40); });
}

TEST(Unpack, RefusesBytesBehindTheStream) {
  const PackedBlob blob = Pack("sixteen letters!");
  ExpectError(ErrorCode::kCorrupt, "does not unpack to",
              [&] { Unpack(blob.data + "x", blob.raw_bytes); });
}

}  // namespace
}  // namespace foretell::dataset
