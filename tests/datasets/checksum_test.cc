#include "datasets/store/checksum.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "scratch.h"

namespace foretell::dataset {
namespace {

const Row kRow = {std::int64_t{-3}, 2.5, std::string("text"),
                  Blob{std::string("\0\1", 2)}, std::monostate()};

TEST(RowChecksum, IsWhatZlibSaysOfTheDocumentedBytes) {
  // zlib.crc32(b"\1" + (7).to_bytes(8, "little") + b"\3"
  //            + (2).to_bytes(8, "little") + b"ab" + b"\0")
  EXPECT_EQ(
      RowChecksum(Row{std::int64_t{7}, std::string("ab"), std::monostate()}),
      0x0eb62385U);
}

TEST(RowChecksum, TellsCellsApartThatLookAlike) {
  const std::vector<Row> rows = {
      {std::int64_t{1}, std::int64_t{2}},
      {std::int64_t{2}, std::int64_t{1}},
      {1.0, std::int64_t{2}},
      {std::string("a"), std::string("bc")},
      {std::string("ab"), std::string("c")},
      {std::string("abc")},
      {Blob{"abc"}},
      {std::monostate()},
      {std::string()},
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_NE(RowChecksum(rows[i]), RowChecksum(rows[j])) << i << " " << j;
    }
  }
}

TEST(RowChecksum, IsTheSameInsideSqlite) {
  const dataset_test::Scratch scratch;
  Connection connection(scratch / "d.sqlite", Access::kCreate);
  EXPECT_EQ(connection.Integer("SELECT row_crc(?1, ?2, ?3, ?4, ?5)", kRow),
            std::int64_t{RowChecksum(kRow)});
}

TEST(ContentHash, IsFnv1a) {
  // Test vectors of the FNV-1a draft.
  EXPECT_EQ(static_cast<std::uint64_t>(ContentHash("")), 0xcbf29ce484222325U);
  EXPECT_EQ(static_cast<std::uint64_t>(ContentHash("foobar")),
            0x85944171f73967e8U);
}

}  // namespace
}  // namespace foretell::dataset
