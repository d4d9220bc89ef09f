#include "src/program/host_operators.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <limits>
#include <string>

#include "tests/graph/expect_error.h"

namespace foretell {
namespace {

void Require(const char* name, const char* overload,
             const torch::jit::Stack& arguments) {
  RequireHostOperator(
      c10::Dispatcher::singleton().findSchemaOrThrow(name, overload).schema(),
      arguments);
}

TEST(HostOperators, AreSortedAndExist) {
  EXPECT_TRUE(std::ranges::is_sorted(HostOperators()));
  const auto all = c10::Dispatcher::singleton().getAllOpNames();
  for (const std::string_view name : HostOperators()) {
    const std::string whole = "aten::" + std::string(name);
    EXPECT_TRUE(std::ranges::any_of(all, [&](const c10::OperatorName& each) {
      return each.name == whole || each.name == whole + "_";
    })) << whole;
  }
}

TEST(HostOperators, AreShapeArithmetic) {
  const at::Tensor x = at::ones({4});
  EXPECT_NO_THROW(Require("aten::add", "Tensor", {x, x, 1}));
  EXPECT_NO_THROW(Require("aten::add_", "Tensor", {x, x, 1}));
  EXPECT_NO_THROW(Require("aten::item", "", {x}));
  EXPECT_NO_THROW(Require("aten::equal", "", {x, x})) << "makes no tensor";
}

TEST(HostOperators, AreNoProductsOfMatricesAndNothingPrivate) {
  const at::Tensor x = at::ones({4, 4});
  for (const char* const name : {"aten::mm", "aten::bmm"}) {
    ExpectError(
        [&] {
          Require(name, "", {x, x});
        },
        ErrorCode::kUnsupported, "not one of the operators that may");
  }
  ExpectError(
      [&] {
        Require("aten::_reshape_alias", "",
                {x, c10::IntArrayRef({1 << 20}), c10::IntArrayRef({1})});
      },
      ErrorCode::kUnsupported, "not one of the operators that may");
}

TEST(HostOperators, CountTheElementsOfViewsNotOfStorages) {
  const at::Tensor wide = at::zeros({1}).expand({kMaxHostElements + 1});
  EXPECT_NO_THROW(Require("aten::relu", "", {wide.slice(0, 1)}));
  ExpectError([&] { Require("aten::relu", "", {wide}); },
              ErrorCode::kUnsupported,
              "a tensor has 16777217 elements, at most 16777216 are read");
}

TEST(HostOperators, DoNotDivideTheSmallestIntegerByMinusOne) {
  const std::int64_t smallest = std::numeric_limits<std::int64_t>::min();
  const at::Tensor x = at::full({3}, smallest, at::kLong);
  const at::Tensor y = at::full({3}, -1, at::kLong);
  const auto floor = [](const at::Tensor& a, const at::Tensor& b) {
    Require("aten::floor_divide", "", {a, b});
  };
  ExpectError([&] { floor(x, y); }, ErrorCode::kUnsupported,
              "the smallest integer is divided by -1");
  ExpectError(
      [&] {
        Require("aten::remainder", "Scalar", {x, -1});
      },
      ErrorCode::kUnsupported, "the smallest integer");
  EXPECT_NO_THROW(floor(at::add(x, 1), y));
  EXPECT_NO_THROW(floor(x, at::add(y, 3)));
}

}  // namespace
}  // namespace foretell
