#include "src/core/csv.h"

#include <gtest/gtest.h>

#include <vector>

namespace foretell {
namespace {

TEST(CsvCell, QuotesWhatMustBeQuoted) {
  EXPECT_EQ(CsvCell("plain text"), "plain text");
  EXPECT_EQ(CsvCell("a,b"), "\"a,b\"");
  EXPECT_EQ(CsvCell("say \"x\""), "\"say \"\"x\"\"\"");
}

TEST(CsvCell, IsPrintable) {
  EXPECT_EQ(CsvCell("\x1b[31m\n\xff"), R"(\x1b[31m\x0a\xff)");
}

TEST(CsvCell, StartsNoFormula) {
  EXPECT_EQ(CsvCell("=cmd|'/c calc'!A1"), "'=cmd|'/c calc'!A1");
  EXPECT_EQ(CsvCell("+1+1"), "'+1+1");
  EXPECT_EQ(CsvCell("-x"), "'-x");
  EXPECT_EQ(CsvCell("@SUM(A1,B1)"), "\"'@SUM(A1,B1)\"");
}

TEST(CsvCell, LeavesNumbersAlone) {
  for (const char* number : {"-1.5", "+3", "-2e-05", "-inf"}) {
    EXPECT_EQ(CsvCell(number), number);
  }
}

TEST(CsvText, IsWhatTheCellWasMadeOf) {
  for (const char* text :
       {"", "'", "a", "'a", "=a", "'=a", "''=a", "-1.5", "'-1.5", "@", "-"}) {
    EXPECT_EQ(CsvText(CsvCell(text)), text);
  }
}

TEST(CsvLine, PutsCommasBetweenCells) {
  EXPECT_EQ(CsvLine(std::vector<std::string>{"a", "", "b,c"}), "a,,\"b,c\"\n");
  EXPECT_EQ(CsvLine({}), "\n");
  EXPECT_EQ(CsvLine(std::vector<std::string>{""}), "\"\"\n");
}

}  // namespace
}  // namespace foretell
