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
  EXPECT_EQ(Nearest("", kKnown, 9).size(), kKnown.size());
  EXPECT_THAT(Nearest("a100", {}), IsEmpty());
}

}  // namespace
}  // namespace foretell
