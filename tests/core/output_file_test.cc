#include "src/core/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "src/core/files.h"
#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

/// A folder of its own for each test.
class OutputFiles : public testing::Test {
 protected:
  OutputFiles() { std::filesystem::create_directories(folder_); }
  ~OutputFiles() override { std::filesystem::remove_all(folder_); }

  const std::string folder_ =
      testing::TempDir() + "foretell_out_" + std::to_string(getpid());
  const std::string path_ = folder_ + "/a.txt";
};

TEST_F(OutputFiles, ReplaceWhatWasThere) {
  WriteWhole(path_, "old");
  WriteWhole(path_, "new");
  EXPECT_EQ(ReadFile(path_, 9), "new");
}

TEST_F(OutputFiles, AppearWhenTheyAreComplete) {
  OutputFile file(path_);
  file.Write("half");
  EXPECT_FALSE(std::filesystem::exists(path_));
  file.Close();
  EXPECT_EQ(ReadFile(path_, 9), "half");
}

TEST_F(OutputFiles, LeaveNothingBehindWhenTheyAreGivenUp) {
  { OutputFile(path_).Write("half"); }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(OutputFiles, ThatCannotBeMadeAreNamed) {
  ExpectError([] { WriteWhole("/nowhere/a.txt", "x"); }, ErrorCode::kIo,
              "/nowhere/a.txt: cannot be created: No such file");
}

}  // namespace
}  // namespace foretell
