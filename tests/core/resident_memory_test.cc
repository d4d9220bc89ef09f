#include "src/core/resident_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "src/core/process.h"
#include "src/core/units.h"

namespace foretell {
namespace {

TEST(PeakResidentBytesOf, RemembersWhatWasGivenBack) {
  const std::int64_t before = PeakResidentBytesOf(getpid());
  { const std::vector<char> large(static_cast<std::size_t>(64 * kMiB), 1); }
  EXPECT_GE(PeakResidentBytesOf(getpid()), before);
  EXPECT_GE(PeakResidentBytesOf(getpid()), 64 * kMiB);
}

TEST(PeakResidentBytesOf, IsZeroWithoutAProcess) {
  EXPECT_EQ(PeakResidentBytesOf(-1), 0);
}

TEST(OwnResidentBytes, CountsWhatIsHeldNow) {
  const std::int64_t before = OwnResidentBytes();
  {
    const std::vector<char> large(static_cast<std::size_t>(64 * kMiB), 1);
    EXPECT_GE(OwnResidentBytes() - before, 63 * kMiB);
  }
  EXPECT_LT(OwnResidentBytes() - before, 32 * kMiB);
}

TEST(LargestPeakOfTree, LooksAtChildren) {
  ChildProcess child = ChildProcess::Fork({}, [](Channel& channel) {
    const std::vector<char> large(static_cast<std::size_t>(400 * kMiB), 1);
    channel.Send("ready");
    channel.Receive();
  });
  ASSERT_TRUE(child.channel().Receive());
  const std::int64_t its = PeakResidentBytesOf(child.id());
  EXPECT_GE(its, 400 * kMiB);
  EXPECT_EQ(LargestPeakOfTree(getpid()),
            std::max(PeakResidentBytesOf(getpid()), its));
}

}  // namespace
}  // namespace foretell
