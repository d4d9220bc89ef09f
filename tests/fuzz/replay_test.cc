#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "tests/fuzz/corpus.h"
#include "tests/fuzz/fuzz_targets.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/promises.h"

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

/// 200, or what FORETELL_MUTATIONS says.
int NumMutations() {
  const char* const number = std::getenv("FORETELL_MUTATIONS");
  return number == nullptr ? 200 : std::atoi(number);
}

// What every build can do without libFuzzer. A crash leaves the input.
TEST_P(FuzzReplay, KeepsItsPromisesWhenInputsAreMutated) {
  const std::vector<std::string> inputs = ReadCorpus(GetParam().name);
  const ScratchFile last(std::string(GetParam().name) + "_input");
  std::mt19937 random(20260131);
  for (int i = 0; i < NumMutations(); ++i) {
    const std::string input = Mutated(inputs, random);
    last.Write(input);
    SCOPED_TRACE(i);
    EXPECT_NO_THROW(GetParam().run(input));
  }
}

std::string NameOf(const testing::TestParamInfo<Target>& info) {
  return std::string(info.param.name);
}

INSTANTIATE_TEST_SUITE_P(, FuzzReplay,
                         testing::ValuesIn(FORETELL_FUZZ_TARGETS()), NameOf);

}  // namespace
}  // namespace foretell::fuzz
