#include "datasets/store/checksum.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "datasets/store/sqlite.h"
#include "scratch.h"

namespace foretell::dataset {
namespace {

/// row_crc of `cells`, which SQLite computes.
std::int64_t RowChecksum(const Row& cells) {
  const dataset_test::Scratch scratch;
  Connection connection(scratch / "d.sqlite", Access::kCreate);
  std::string places;
  for (std::size_t i = 1; i <= cells.size(); ++i) {
    places += (i > 1 ? ", ?" : "?") + std::to_string(i);
  }
  return connection.Integer("SELECT row_crc(" + places + ")", cells);
}

TEST(RowChecksum, IsWhatZlibSaysOfTheDocumentedBytes) {
  // zlib.crc32(b"\1" + (7).to_bytes(8, "little") + b"\3"
  //            + (2).to_bytes(8, "little") + b"ab" + b"\0")
  EXPECT_EQ(
      RowChecksum(Row{std::int64_t{7}, std::string("ab"), std::monostate()}),
      0x0eb62385);
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
  std::set<std::int64_t> checksums;
  for (const Row& row : rows) checksums.insert(RowChecksum(row));
  EXPECT_EQ(checksums.size(), rows.size());
}

TEST(ContentHash, IsFnv1a) {
  // Test vectors of the FNV-1a draft.
  EXPECT_EQ(static_cast<std::uint64_t>(ContentHash("")), 0xcbf29ce484222325U);
  EXPECT_EQ(static_cast<std::uint64_t>(ContentHash("foobar")),
            0x85944171f73967e8U);
}

}  // namespace
}  // namespace foretell::dataset
