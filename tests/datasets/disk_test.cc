// A full disk: a small file system where one may be mounted, and a limit on the
// size of files everywhere.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <string>

#include "expect_error.h"
#include "foretell/dataset.h"
#include "scratch.h"
#include "toy.h"

namespace foretell {
namespace {

using dataset_test::Scratch;
using dataset_test::ToyGraph;
using dataset_test::ToyPoint;

constexpr std::int64_t kMaxPoints = 5000;

/// Adds points until one fails; returns how many were added.
std::int64_t FillUp(Dataset& dataset) {
  for (std::int64_t i = dataset.NumPoints() + 1; i < kMaxPoints; ++i) {
    try {
      dataset.AddTraced(ToyPoint("toy", i), ToyGraph(i));
    } catch (const Error& error) {
      EXPECT_EQ(ErrorCodeName(error.code()), ErrorCodeName(ErrorCode::kIo));
      EXPECT_THAT(error.what(), testing::HasSubstr(dataset.path()));
      return i - 1;
    }
  }
  return kMaxPoints;
}

/// Fills the disk under `path`, makes room, and goes on.
void FillMakeRoomAndGoOn(const std::string& path,
                         const std::function<void()>& make_room) {
  Dataset dataset = Dataset::OpenOrCreate(path);
  const std::int64_t added = FillUp(dataset);
  ASSERT_GT(added, 10);
  ASSERT_LT(added, kMaxPoints) << "the disk never was full";
  EXPECT_EQ(dataset.NumPoints(), added);
  EXPECT_EQ(Dataset::Open(path).NumPoints(), added);
  EXPECT_THAT(CheckDataset(path), testing::IsEmpty());
  make_room();
  EXPECT_TRUE(
      dataset.AddTraced(ToyPoint("toy", added + 1), ToyGraph(added + 1)));
  EXPECT_THAT(CheckDataset(path), testing::IsEmpty());
  EXPECT_EQ(Dataset::Open(path).NumPoints(), added + 1);
}

TEST(FullDisk, LosesNothingOnASmallFileSystem) {
  const Scratch scratch;
  const std::string folder = scratch / "small";
  std::filesystem::create_directory(folder);
  if (mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=512k") != 0) {
    GTEST_SKIP() << "no file system may be mounted here";
  }
  FillMakeRoomAndGoOn(folder + "/d.sqlite", [&folder] {
    ASSERT_EQ(mount("tmpfs", folder.c_str(), "tmpfs", MS_REMOUNT, "size=4m"),
              0);
  });
  umount2(folder.c_str(), MNT_DETACH);
}

TEST(FullDisk, LosesNothingAtALimitOfFileSize) {
  const Scratch scratch;
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 200'000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  FillMakeRoomAndGoOn(scratch / "d.sqlite", [&before] {
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, previous);
}

}  // namespace
}  // namespace foretell
