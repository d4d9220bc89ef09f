#include "src/mig/parse_job.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/graph/expect_error.h"

namespace foretell::mig {
namespace {

TEST(ParseJob, DividesAtTheLastSign) {
  const Job job = ParseJob("ranker=3500");
  EXPECT_EQ(job.model, "ranker");
  EXPECT_EQ(job.needed_mib, 3500);
  EXPECT_EQ(ParseJob("zoo:vgg11?bias=false=0.5").model, "zoo:vgg11?bias=false");
  EXPECT_EQ(ParseJob("zoo:vgg11?bias=false=0.5").needed_mib, 0.5);
}

TEST(ParseJob, TakesAUnit) {
  EXPECT_EQ(ParseJob("ranker=9GiB").needed_mib, 9216);
  EXPECT_NEAR(ParseJob("ranker=1.5 gb").needed_mib, 1.5e9 / 1048576, 1e-9);
}

TEST(ParseJob, QuotesWhatHasNoNameOrNoMemory) {
  for (const std::string text :
       {"", "ranker", "=3500", "ranker=", "ranker=0", "ranker=-1",
        "ranker=3500M", "ranker=much", "ranker=inf", "ranker=0GB"}) {
    ExpectError([&] { ParseJob(text); }, ErrorCode::kInvalidArgument,
                "--job '" + text + "': expected NAME=MIB");
  }
}

}  // namespace
}  // namespace foretell::mig
