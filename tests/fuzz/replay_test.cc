#include <gtest/gtest.h>

#include <span>
#include <string>
#include <vector>

#include "tests/fuzz/corpus.h"
#include "tests/fuzz/fuzz_targets.h"

namespace foretell::fuzz {
namespace {

class FuzzReplay : public testing::TestWithParam<Target> {};

// A broken promise aborts the process.
TEST_P(FuzzReplay, KeepsItsPromises) {
  const std::vector<std::string> inputs = ReadCorpus(GetParam().name);
  EXPECT_GE(inputs.size(), 10u);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    SCOPED_TRACE(i + 1);
    EXPECT_NO_THROW(GetParam().run(inputs[i]));
  }
}

std::string NameOf(const testing::TestParamInfo<Target>& info) {
  return std::string(info.param.name);
}

INSTANTIATE_TEST_SUITE_P(, FuzzReplay,
                         testing::ValuesIn(FORETELL_FUZZ_TARGETS()), NameOf);

}  // namespace
}  // namespace foretell::fuzz
