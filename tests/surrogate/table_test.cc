#include "src/surrogate/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "foretell/error.h"
#include "src/core/output_file.h"
#include "tests/surrogate/toy_table.h"

namespace foretell::surrogate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TableFile : public testing::Test {
 protected:
  Table Read(const std::string& text, const std::string& target = "memory",
             const std::vector<std::string>& columns = {}) const {
    WriteWhole(path_, text);
    return ReadTable(path_, target, columns);
  }
  std::string ErrorOf(const std::string& text,
                      const std::string& target = "memory") const {
    try {
      Read(text, target);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  const std::string path_ = testing::TempDir() + "surrogate_table.csv";
};

TEST_F(TableFile, ReadsAllColumnsButTheTarget) {
  const Table table =
      Read("batch,memory,edge\n1,10,32\n2,20.5,32\n1,40,64\n2,80,64\n");
  EXPECT_THAT(table.columns, ElementsAre("batch", "edge"));
  EXPECT_EQ(table.inputs(2, 1), 64);
  EXPECT_EQ(table.values[1], 20.5);
}

TEST_F(TableFile, ReadsTheColumnsThatAreNamed) {
  const Table table = Read("name,edge,memory\na,1,1\nb,2,2\nc,3,3\nd,4,4\n",
                           "memory", {"edge"});
  EXPECT_THAT(table.columns, ElementsAre("edge"));
}

TEST_F(TableFile, NamesLineAndValueOfWhatIsNoNumber) {
  EXPECT_EQ(ErrorOf("batch,memory\n1,10\ntwo,20\n"),
            path_ + ":3: batch is 'two', expected a finite number");
  EXPECT_EQ(ErrorOf("batch,memory\n1,10\n2,nan\n"),
            path_ + ":3: memory is 'nan', expected a finite number");
  EXPECT_EQ(ErrorOf("batch,memory\n1,inf\n"),
            path_ + ":2: memory is 'inf', expected a finite number");
  EXPECT_EQ(ErrorOf("batch,memory\n1,0\n"),
            path_ + ":2: memory is '0', expected another number than 0");
  EXPECT_EQ(ErrorOf("batch,memory\n1,\n"),
            path_ + ":2: memory is '', expected a finite number");
}

TEST_F(TableFile, RefusesAColumnThatIsMissing) {
  EXPECT_THAT(ErrorOf("batch,latency\n1,10\n"), HasSubstr("memory"));
}

TEST_F(TableFile, RefusesTwoColumnsOfOneName) {
  EXPECT_EQ(ErrorOf("batch,batch,memory\n1,1,10\n2,2,20\n"),
            path_ + ": two columns are named 'batch'");
  EXPECT_EQ(ErrorOf("batch,,,memory\n1,2,3,10\n2,3,4,20\n"),
            path_ + ": two columns are named ''");
}

TEST_F(TableFile, RefusesTooFewRows) {
  EXPECT_EQ(ErrorOf("batch,memory\n1,10\n"),
            path_ + ": has 1 row, expected at least 4");
  EXPECT_EQ(ErrorOf("batch,memory\n"),
            path_ + ": has 0 rows, expected at least 4");
}

TEST_F(TableFile, RefusesATargetThatIsTheSameInAllRows) {
  EXPECT_EQ(ErrorOf("batch,memory\n1,5\n2,5\n3,5\n4,5\n"),
            path_ + ": memory is 5 in all 4 rows: there is nothing to fit");
}

TEST_F(TableFile, RefusesATableOfTheTargetAlone) {
  EXPECT_EQ(ErrorOf("memory\n1\n2\n3\n4\n"),
            path_ + ": has no column other than 'memory'");
}

Table Counted(int rows) {
  return ToyTable(rows, 1, [](double batch, double) { return batch; });
}

TEST(SplitTable, HoldsOutTheShareAndNoRowTwice) {
  const SplitTable split = Split(Counted(10), 0.3, 7);
  EXPECT_EQ(split.held_out.rows(), 3);
  std::set<double> values(split.fitted.values.begin(),
                          split.fitted.values.end());
  values.insert(split.held_out.values.begin(), split.held_out.values.end());
  EXPECT_EQ(values.size(), 10u);
}

TEST(SplitTable, DependsOnTheSeedAlone) {
  EXPECT_EQ(Split(Counted(20), 0.3, 1).held_out.values,
            Split(Counted(20), 0.3, 1).held_out.values);
  EXPECT_NE(Split(Counted(20), 0.3, 1).held_out.values,
            Split(Counted(20), 0.3, 2).held_out.values);
}

TEST(SplitTable, LeavesARowOnBothSides) {
  EXPECT_EQ(Split(Counted(4), 0.01, 1).held_out.rows(), 1);
  EXPECT_EQ(Split(Counted(4), 0.99, 1).fitted.rows(), 1);
  EXPECT_THROW(Split(Counted(4), 1, 1), Error);
}

TEST(RelativeErrors, AreSharesOfTheTruth) {
  const Eigen::Vector3d truth(10, -20, 40);
  const Eigen::Vector3d predicted(11, -20, 28);
  EXPECT_DOUBLE_EQ(MeanError(predicted, truth), (0.1 + 0.3) / 3);
  EXPECT_DOUBLE_EQ(LargestError(predicted, truth), 0.3);
}

}  // namespace
}  // namespace foretell::surrogate
