#include "src/memory/momentum_step.h"

#include <gtest/gtest.h>

#include <string>

#include "foretell/graph_io.h"
#include "src/core/units.h"

namespace foretell::memory {
namespace {

/// A step that updates a parameter of 32 MiB, with such storages before it and
/// an operator of the optimizer.
std::int64_t BeyondMomentum(const std::string& states,
                            const std::string& temporary = "") {
  MemoryOptions options;
  options.with_workspaces = false;
  return ReservedBeyondMomentum(
      ParseGraph("graph \"g\" mode=training\n%w = parameter f32[8388608]\n" +
                 states + "phase backward\n" +
                 "%g = relu(%w) : f32[8388608] gradient\n" + temporary),
      options);
}

constexpr char kState[] = "%s = optimizer_state f32[8388608]\n";
constexpr char kSecondState[] = "%t = optimizer_state f32[8388608]\n";
constexpr char kTemporary[] =
    "phase optimizer\n%d = sqrt(%g) : f32[8388608] optimizer_temporary\n";

TEST(MomentumStep, HasOneStateAndNoTemporary) {
  EXPECT_EQ(BeyondMomentum(kState), 0);
  EXPECT_EQ(BeyondMomentum(""), -32 * kMiB);
  EXPECT_EQ(BeyondMomentum(std::string(kState) + kSecondState), 32 * kMiB);
  EXPECT_EQ(BeyondMomentum(std::string(kState) + kSecondState, kTemporary),
            64 * kMiB);
}

}  // namespace
}  // namespace foretell::memory
