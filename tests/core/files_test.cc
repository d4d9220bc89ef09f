#include "src/core/files.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

class Files : public testing::Test {
 protected:
  Files() : path_(fmt::format("{}foretell_{}", testing::TempDir(), getpid())) {
    std::ofstream(path_, std::ios::binary) << std::string("a\0b\n", 4);
  }
  ~Files() override { std::filesystem::remove(path_); }

  void MakePipe() {
    std::filesystem::remove(path_);
    ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  }

  const std::string path_;
};

TEST_F(Files, AreReadWhole) {
  EXPECT_EQ(ReadFile(path_, 4), std::string("a\0b\n", 4));
}

TEST_F(Files, ThatAreTooLargeAreRefused) {
  ExpectError([this] { ReadFile(path_, 3); }, ErrorCode::kUnsupported,
              path_ + ": has 4 bytes, expected at most 3");
}

TEST_F(Files, OfTextHaveAtMost16MiB) {
  EXPECT_EQ(ReadText(path_), std::string("a\0b\n", 4));
  std::filesystem::resize_file(path_, (16 << 20) + 1);
  ExpectError([this] { ReadText(path_); }, ErrorCode::kUnsupported,
              "has 16777217 bytes, expected at most 16777216");
}

TEST_F(Files, ThatAreNotThereAreNamed) {
  ExpectError([this] { ReadFile(path_ + ".no", 9); }, ErrorCode::kNotFound,
              path_ + ".no: no such file");
  ExpectError([this] { ReadFile(path_ + "/in", 9); }, ErrorCode::kNotFound,
              "/in: no such file");
  ExpectError([] { ReadFile("", 9); }, ErrorCode::kNotFound,
              "no such file: the name is empty");
  EXPECT_EQ(FirstBytes(path_ + ".no", 2), "");
}

TEST_F(Files, MustBeRegular) {
  ExpectError([] { ReadFile("/tmp", 1 << 20); }, ErrorCode::kIo,
              "/tmp: is a directory, expected a regular file");
  ExpectError([] { ReadFile("/dev/zero", 1 << 20); }, ErrorCode::kIo,
              "/dev/zero: is a device, expected a regular file");
  EXPECT_EQ(FirstBytes("/dev/zero", 4), "");
}

TEST_F(Files, ThatArePipesAreNotWaitedFor) {
  MakePipe();
  ExpectError([this] { ReadFile(path_, 9); }, ErrorCode::kIo,
              "is a named pipe, expected a regular file");
  EXPECT_EQ(FirstBytes(path_, 4), "");
}

TEST_F(Files, AreOpenedWithTheirSize) {
  const RegularFile file = OpenRegularFile(path_, kAnySize);
  EXPECT_TRUE(file.descriptor.is_open());
  EXPECT_EQ(file.size, 4);
  ExpectError([this] { OpenRegularFile(path_, 3); }, ErrorCode::kUnsupported,
              "has 4 bytes, expected at most 3");
}

TEST_F(Files, MayBeMissing) {
  EXPECT_EQ(ReadFileIfAny(path_, 4), std::string("a\0b\n", 4));
  EXPECT_EQ(ReadFileIfAny(path_ + ".no", 4), std::nullopt);
  ExpectError([] { ReadFileIfAny("/tmp", 4); }, ErrorCode::kIo, "/tmp: is a");
}

TEST_F(Files, BeginWithTheirFirstBytes) {
  EXPECT_EQ(FirstBytes(path_, 2), std::string("a\0", 2));
  EXPECT_EQ(FirstBytes(path_, 99).size(), 4u);
}

}  // namespace
}  // namespace foretell
