#include "src/program/host_work.h"

#include <ATen/ATen.h>

#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

c10::OperatorHandle Find(const char* name, const char* overload) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
}

TEST(HostWork, CountsTheElementsOfViewsNotOfStorages) {
  HostWork work;
  const at::Tensor wide =
      at::zeros({1}).expand({HostWork::kMaxElements / 4 + 1});
  const c10::OperatorHandle relu = Find("aten::relu", "");
  for (int i = 0; i < 3; ++i) work.ChargeArguments(relu, {wide});
  ExpectError([&] { work.ChargeArguments(relu, {wide}); },
              ErrorCode::kUnsupported, "more than 268435456");
}

TEST(HostWork, AProductOfMatricesCostsMoreThanItsElements) {
  // (2 * 640^2)^1.5 is more than 2^28, 2 * 640^2 far less.
  const at::Tensor square = at::empty({640, 640});
  const torch::jit::Stack arguments = {square, square};
  HostWork work;
  EXPECT_NO_THROW(work.ChargeArguments(Find("aten::atan2", ""), arguments));
  ExpectError([&] { work.ChargeArguments(Find("aten::mm", ""), arguments); },
              ErrorCode::kUnsupported, "read or multiply more than");
}

TEST(HostWork, CountsTheBytesOfResultsButNotOfViews) {
  HostWork work;
  at::Tensor made = at::empty({HostWork::kMaxBytes / 8}, at::kFloat);
  const c10::OperatorHandle view = Find("aten::alias", "");
  for (int i = 0; i < 10; ++i) work.ChargeResults(view, {made.alias()});
  const c10::OperatorHandle relu = Find("aten::relu", "");
  torch::jit::Stack results = {std::move(made)};
  work.ChargeResults(relu, results);
  work.ChargeResults(relu, results);
  ExpectError([&] { work.ChargeResults(relu, results); },
              ErrorCode::kUnsupported, "make more than 2147483648 bytes");
}

}  // namespace
}  // namespace foretell
