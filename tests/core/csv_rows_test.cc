#include "src/core/csv_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>

#include <fstream>
#include <string>
#include <vector>

#include "src/core/csv.h"
#include "tests/datasets/expect_error.h"
#include "tests/datasets/scratch.h"

namespace foretell {
namespace {

using dataset_test::ExpectError;
using dataset_test::Scratch;
using testing::ElementsAre;

class CsvTest : public testing::Test {
 protected:
  /// "line:a|b" of every row.
  std::vector<std::string> Read(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return ReadPath(path_);
  }
  static std::vector<std::string> ReadPath(const std::string& path) {
    std::vector<std::string> rows;
    ForEachCsvRow(path, [&rows](const CsvRow& row) {
      rows.push_back(std::to_string(row.line()) + ":" + row.At("a") + "|" +
                     row.At("b"));
    });
    return rows;
  }

  Scratch scratch_;
  std::string path_ = scratch_ / "t.csv";
};

TEST_F(CsvTest, ReadsCellsByTheirHeader) {
  EXPECT_THAT(Read("b,a\n1,2\n3,4\n"), ElementsAre("2:2|1", "3:4|3"));
}

TEST_F(CsvTest, KnowsQuotesAndWindowsLines) {
  EXPECT_THAT(Read("a,b\r\n\"x,\"\"y\"\"\nz\",2\r\n\r\n3,\"\""),
              ElementsAre("2:x,\"y\"\nz|2", "5:3|"));
}

TEST_F(CsvTest, TakesBlanksAroundCellsForNoPartOfThem) {
  EXPECT_THAT(Read("b, a\n1 ,\t2 3\t\r\n , \n"), ElementsAre("2:2 3|1", "3:|"));
  EXPECT_THAT(Read("a , \"b\" \n \" x \" , \"\"\n"), ElementsAre("2: x |"));
  EXPECT_THAT(Read("a,b\n1,2\n   \n"), ElementsAre("2:1|2"));
}

TEST_F(CsvTest, RefusesTwoColumnsOfOneName) {
  ExpectError(ErrorCode::kCorrupt, "t.csv: two columns are named 'b'",
              [&] { Read("a,b, b\n1,2,3\n"); });
  EXPECT_THAT(Read("a,b,,\n1,2,,\n"), ElementsAre("2:1|2"));
}

TEST_F(CsvTest, TellsALoneEmptyCellInQuotesFromAnEmptyLine) {
  std::ofstream(path_, std::ios::binary) << "a\n\n\"\"\n1\n";
  std::vector<std::string> cells;
  ForEachCsvRow(path_,
                [&](const CsvRow& row) { cells.push_back(row.At("a")); });
  EXPECT_THAT(cells, ElementsAre("", "1"));
}

TEST_F(CsvTest, SkipsAByteOrderMark) {
  EXPECT_THAT(Read("\xef\xbb\xbf"
                   "a,b\n1,2\n"),
              ElementsAre("2:1|2"));
  EXPECT_THAT(Read("\xef\xbb\xbf"
                   "\"a\",b\n1,2\n"),
              ElementsAre("2:1|2"));
  EXPECT_THAT(Read("\xef\xbb\xbf"
                   "\r\na,b\n1,2\n"),
              ElementsAre("3:1|2"));
  ExpectError(ErrorCode::kCorrupt, "an empty table",
              [&] { Read("\xef\xbb\xbf"); });
}

/// Writes `text` so many times, gzipped.
void WriteGzip(const std::string& path, const std::string& text, int times) {
  gzFile file = gzopen(path.c_str(), "wb");
  for (int i = 0; i < times; ++i) {
    ASSERT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())),
              static_cast<int>(text.size()));
  }
  gzclose(file);
}

TEST_F(CsvTest, RefusesATableThatUnpacksToAThousandTimesItsSize) {
  std::string rows = "a,b\n";
  for (int i = 0; i < 250'000; ++i) rows += "1,2\n";
  WriteGzip(path_, rows, 10);  // 10 MB.
  int count = 0;
  ForEachCsvRow(path_, [&](const CsvRow&) { ++count; });
  EXPECT_EQ(count, 2'500'009);
  WriteGzip(path_, rows, 40);
  ExpectError(ErrorCode::kCorrupt, "unpacks to more than 100 times its size",
              [&] { ForEachCsvRow(path_, [](const CsvRow&) {}); });
}

TEST_F(CsvTest, ReadsGzip) {
  const std::string text = "a,b\n1,2\n";
  gzFile file = gzopen(path_.c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  EXPECT_THAT(ReadPath(path_), ElementsAre("2:1|2"));
}

TEST_F(CsvTest, DoesNotWaitForAPipe) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  ExpectError(ErrorCode::kIo, "t.csv: is a named pipe, expected a regular file",
              [this] { ReadPath(path_); });
  ExpectError(ErrorCode::kNotFound, "no.csv: no such file",
              [this] { ReadPath(scratch_ / "no.csv"); });
}

TEST_F(CsvTest, NamesLinesThatMakeNoSense) {
  ExpectError(ErrorCode::kCorrupt, "line 3 has 1 cell, the header 2",
              [&] { Read("a,b\n1,2\n3\n"); });
  ExpectError(ErrorCode::kCorrupt, "line 2: a quote is not closed",
              [&] { Read("a,b\n\"1,2\n"); });
  ExpectError(ErrorCode::kCorrupt, "an empty table", [&] { Read(""); });
  ExpectError(ErrorCode::kInvalidArgument, "no column 'b'; there are: 'a', 'c'",
              [&] { Read("a,c\n1,2\n"); });
  ExpectError(ErrorCode::kNotFound, "nothing.csv",
              [&] { ReadPath(scratch_ / "nothing.csv"); });
}

TEST_F(CsvTest, ReadsBackWhatLooksLikeAFormula) {
  EXPECT_THAT(
      Read("a,b\n" + CsvCell("=f(\"x\",1)") + "," + CsvCell("'-y") + "\n"),
      ElementsAre("2:=f(\"x\",1)|'-y"));
}

TEST_F(CsvTest, ReadsBackBlanksAtTheEdges) {
  EXPECT_THAT(Read("a,b\n" + CsvLine(std::vector<std::string>{" x", "y "})),
              ElementsAre("2: x|y "));
}

}  // namespace
}  // namespace foretell
