#include "frontends/onnx/reader/byte_source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "tests/frontends/onnx_reader/messages.h"

namespace foretell::onnx {
namespace {

std::string TemporaryPath(const std::string& name) {
  return testing::TempDir() + "byte_source_" + std::to_string(getpid()) + name;
}

std::string WriteRandomFile(const std::string& path, std::size_t size) {
  std::mt19937 generator(1);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(generator());
  std::ofstream(path, std::ios::binary) << bytes;
  return bytes;
}

TEST(ByteSource, ShowsTheSameBytesOfFileAndMemory) {
  const std::string path = TemporaryPath("same");
  const std::string bytes = WriteRandomFile(path, 2'000'000);
  ByteSource file(OpenRegularFile(path, kAnySize));
  ByteSource memory(bytes);
  ASSERT_EQ(file.size(), 2'000'000);
  std::mt19937 generator(2);
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t offset = generator() % 2'000'001;
    const std::string_view ahead = file.Ahead(offset);
    const auto needed = std::min<std::int64_t>(32, 2'000'000 - offset);
    ASSERT_GE(static_cast<std::int64_t>(ahead.size()), needed);
    ASSERT_EQ(ahead.substr(0, 32), memory.Ahead(offset).substr(0, 32));
    std::string from_file = "a";
    std::string expected = from_file;
    const std::int64_t count =
        std::min<std::int64_t>(generator() % 9000, 2'000'000 - offset);
    file.Append(offset, count, from_file);
    expected.append(bytes, static_cast<std::size_t>(offset),
                    static_cast<std::size_t>(count));
    ASSERT_EQ(from_file, expected);
  }
  std::filesystem::remove(path);
}

TEST(ByteSource, ReportsAFileThatShrinks) {
  const std::string path = TemporaryPath("shrinks");
  WriteRandomFile(path, 1'000'000);
  ByteSource file(OpenRegularFile(path, kAnySize));
  file.Ahead(0);
  std::filesystem::resize_file(path, 1000);
  EXPECT_EQ(ErrorOf([&] { file.Ahead(500'000); }),
            "io: the file shrank while it was read: it had 1000000 bytes, now "
            "at most 500000");
  std::filesystem::remove(path);
}

TEST(ReadModel, RefusesWhatIsNoRegularFile) {
  const std::string pipe = TemporaryPath("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(ErrorOf([&] { ReadModel(pipe); }),
            "io: " + pipe + ": is a named pipe, expected a regular file");
  std::filesystem::remove(pipe);
  EXPECT_EQ(ErrorOf([] { ReadModel("/"); }),
            "io: /: is a directory, expected a regular file");
  EXPECT_EQ(ErrorOf([] { ReadModel("/dev/zero"); }),
            "io: /dev/zero: is a device, expected a regular file");
}

TEST(ReadModel, SaysThatAFileDoesNotExist) {
  EXPECT_EQ(ErrorOf([] { ReadModel("/no/such/file"); }),
            "not_found: /no/such/file: no such file");
  EXPECT_EQ(ErrorOf([] { ReadModel("/etc/passwd/x"); }),
            "not_found: /etc/passwd/x: no such file");
}

}  // namespace
}  // namespace foretell::onnx
