#include "tests/conformance/case.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "foretell/error.h"

namespace foretell::conformance {
namespace {

namespace fs = std::filesystem;

/// A folder of cases that is gone after the test.
class CaseFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ =
        fs::path(::testing::TempDir()) /
        ("cases_" +
         std::string(
             ::testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(root_);
    Write("node/test_relu/model.onnx");
    Write("node/test_abs/model.onnx");
    Write("simple/test_net/model.onnx");
    Write("node/no_case/README");
    Write("manifest.json");
  }
  void TearDown() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& text = "") {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }

  Case Relu() const { return FindCases(root_, "relu").at(0); }

  fs::path root_;
};

TEST_F(CaseFolder, IsSearchedForModelsInOrder) {
  const std::vector<Case> cases = FindCases(root_, "");
  ASSERT_EQ(cases.size(), 3u);
  EXPECT_EQ(cases[0].name, "test_abs");
  EXPECT_EQ(cases[1].name, "test_relu");
  EXPECT_EQ(cases[2].group, "simple");
}

TEST_F(CaseFolder, IsFilteredByGroupAndName) {
  EXPECT_EQ(FindCases(root_, "^node/").size(), 2u);
  EXPECT_EQ(FindCases(root_, "_(abs|net)$").size(), 2u);
  EXPECT_EQ(FindCases(root_, "lrn").size(), 0u);
  EXPECT_THROW(FindCases(root_, "("), Error);
  EXPECT_THROW(FindCases(root_ / "absent", ""), Error);
}

TEST_F(CaseFolder, NumbersItsFiles) {
  Write("node/test_relu/test_data_set_0/input_0.pb");
  Write("node/test_relu/test_data_set_0/input_1.pb");
  Write("node/test_relu/test_data_set_0/input_3.pb");
  Write("node/test_relu/test_data_set_1/output_0.pb");
  const std::vector<fs::path> sets = Relu().DataSets();
  ASSERT_EQ(sets.size(), 2u);
  EXPECT_EQ(NumberedFiles(sets[0], "input").size(), 2u);
  EXPECT_EQ(NumberedFiles(sets[0], "output").size(), 0u);
  EXPECT_EQ(NumberedFiles(sets[1], "output").size(), 1u);
}

TEST_F(CaseFolder, MayWidenTheTolerance) {
  EXPECT_EQ(Relu().ReadTolerance().rtol, 1e-3);
  EXPECT_EQ(Relu().ReadTolerance().atol, 1e-7);
  Write("node/test_relu/data.json", R"({"rtol": 0.25})");
  EXPECT_EQ(Relu().ReadTolerance().rtol, 0.25);
  EXPECT_EQ(Relu().ReadTolerance().atol, 1e-7);
  Write("node/test_relu/data.json", "rtol");
  EXPECT_THROW(Relu().ReadTolerance(), Error);
}

}  // namespace
}  // namespace foretell::conformance
