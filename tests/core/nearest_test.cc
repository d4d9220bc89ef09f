#include "src/core/nearest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace foretell {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> kKnown = {"a100-pcie-40gb", "a100-sxm4-40gb",
                                         "h100-pcie-80gb", "rtx-4090"};

TEST(Nearest, CountsTheLettersThatDiffer) {
  EXPECT_THAT(Nearest("a100-sxm-40gb", kKnown, 2),
              ElementsAre("a100-sxm4-40gb", "a100-pcie-40gb"));
}

TEST(Nearest, PutsWhatGoesOnFirst) {
  EXPECT_THAT(Nearest("h100", kKnown, 1), ElementsAre("h100-pcie-80gb"));
}

TEST(Nearest, DoesNotSeeCapitals) {
  EXPECT_THAT(Nearest("RTX-409", kKnown, 1), ElementsAre("rtx-4090"));
}

TEST(Nearest, GivesNoMoreThanThereAre) {
  EXPECT_EQ(Nearest("a100", kKnown, 9).size(), 2);
  EXPECT_THAT(Nearest("a100", {}), IsEmpty());
}

TEST(Nearest, IsSilentWhereNothingIsNear) {
  const std::vector<std::string> flags = {"--batch", "--csv", "--dim",
                                          "--device"};
  EXPECT_THAT(Nearest("--gpu", flags), IsEmpty());
  EXPECT_THAT(Nearest("--train", flags), IsEmpty());
  EXPECT_THAT(Nearest("", flags), IsEmpty());
  EXPECT_THAT(Nearest("--", flags), IsEmpty());
}

TEST(Nearest, KnowsANameWithMoreBehindIt) {
  const std::vector<std::string> flags = {"--batch", "--dim"};
  EXPECT_THAT(Nearest("--batchsize", flags), ElementsAre("--batch"));
}

}  // namespace
}  // namespace foretell
