#include "src/core/text_table.h"

#include <gtest/gtest.h>

#include <string>

#include "foretell/error.h"

namespace foretell {
namespace {

TEST(TextTable, AlignsTheFirstColumnLeftAndTheOthersRight) {
  TextTable table({"network", "MAPE"});
  table.AddRow({"gat", "12.5"});
  table.AddRow({"graph network", "3"});
  EXPECT_EQ(table.ToString(),
            "network        MAPE\n"
            "gat            12.5\n"
            "graph network     3\n");
}

TEST(TextTable, CountsCharactersNotBytes) {
  TextTable table({"network", "MAPE", "n"});
  table.AddRow({"gat", "1 ± 2", "7"});
  table.AddRow({"gin", "12345", "8"});
  EXPECT_EQ(table.ToString(),
            "network   MAPE  n\n"
            "gat      1 ± 2  7\n"
            "gin      12345  8\n");
}

TEST(TextTable, PrintsMarkdown) {
  TextTable table({"network", "MAPE"});
  table.AddRow({"a|b", "1"});
  EXPECT_EQ(table.ToMarkdown(),
            "| network | MAPE |\n"
            "|---|---:|\n"
            "| a\\|b | 1 |\n");
}

TEST(TextTable, RefusesARowOfAnotherWidth) {
  TextTable table({"network", "MAPE"});
  EXPECT_THROW(table.AddRow({"gat"}), Error);
}

}  // namespace
}  // namespace foretell
