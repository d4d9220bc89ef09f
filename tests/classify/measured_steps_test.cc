#include "src/classify/measured_steps.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/classify/toy_steps.h"
#include "tests/datasets/expect_error.h"

namespace foretell::classify {
namespace {

using dataset_test::ExpectError;

constexpr char kHeader[] = "name,set,model,input,batch,optimizer,memory_mib";

std::vector<MeasuredStep> ReadText(const std::string& text) {
  const std::string path = testing::TempDir() + "measured_steps.csv";
  std::ofstream(path) << text;
  return ReadMeasuredSteps(path);
}

void ExpectRefused(const std::string& row, const std::string& part) {
  ExpectError(
      ErrorCode::kInvalidArgument, "measured_steps.csv: line 3: " + part, [&] {
        ReadText(std::string(kHeader) + "\na,s,m.pt,,2,adam,900\n" + row);
      });
}

TEST(MeasuredSteps, AreRowsOfATable) {
  const std::vector<MeasuredStep> steps =
      ReadText(std::string(kHeader) +
               ",pass_before\na,s,m.pt,\"f32[1,3,8,8]\",4,adam,900.5,2\n"
               "b,s,m.pt,,8,sgd,,\n");
  ASSERT_EQ(steps.size(), 2);
  EXPECT_EQ(steps[0].input, "f32[1,3,8,8]");
  EXPECT_EQ(steps[0].optimizer, Optimizer::kAdam);
  EXPECT_EQ(steps[0].pass_before, 2);
  EXPECT_EQ(steps[0].step.memory_mib, 900.5);
  EXPECT_EQ(steps[1].batch, 8);
  EXPECT_EQ(steps[1].pass_before, 0);
  EXPECT_EQ(steps[1].step.memory_mib, std::nullopt);
}

TEST(MeasuredSteps, NameTheLineAndTheCellThatIsWrong) {
  ExpectRefused(",s,m.pt,,2,adam,9", "name '': expected some text");
  ExpectRefused("b,,m.pt,,2,adam,9", "set '': expected some text");
  ExpectRefused("b,s,,,2,adam,9", "model '': expected some text");
  ExpectRefused("b,s,m.pt,,two,adam,9", "batch 'two': expected 1 or more");
  ExpectRefused("b,s,m.pt,,0,adam,9", "batch '0': expected 1 or more");
  ExpectRefused("b,s,m.pt,,2,adamx,9", "optimizer 'adamx': expected one of");
  for (const char* bad : {"much", "nan", "inf", "-1"}) {
    ExpectRefused(std::string("b,s,m.pt,,2,adam,") + bad,
                  std::string("memory_mib '") + bad + "': expected MiB");
  }
}

TEST(MeasuredSteps, RefuseATableWithoutRowsOrAColumn) {
  const auto expect = [](const std::string& text, const std::string& part) {
    ExpectError(ErrorCode::kInvalidArgument, "measured_steps.csv: " + part,
                [&] { ReadText(text); });
  };
  expect(std::string(kHeader) + "\n", "has 0 rows, expected one a step");
  expect("name,set,model,batch,optimizer,memory_mib\na,s,m.pt,2,adam,9\n",
         "no column 'input'; there are: 'name', 'set', 'model', 'batch'");
}

TEST(SeveralClasses, AreNeededToLearn) {
  const MemoryClasses classes({2000, 5000});
  const std::vector<LabelledStep> alike = {ToyStep(2500), ToyStep(4000)};
  ExpectError(ErrorCode::kInvalidArgument,
              "x.jsonl: memory_mib of all 2 steps is 2000 to 5000 MiB: there "
              "is nothing to learn",
              [&] { RequireSeveralClasses(alike, classes, "x.jsonl"); });
  EXPECT_NO_THROW(RequireSeveralClasses({ToyStep(1000), ToyStep(4000)}, classes,
                                        "x.jsonl"));
}

}  // namespace
}  // namespace foretell::classify
