// What a trace refuses, and how it says so.

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include "foretell/trace.h"
#include "tests/core/process_usage.h"
#include "tests/graph/expect_error.h"
#include "tests/program/fake_program.h"
#include "tests/program/trace_queries.h"

namespace foretell {
namespace {

using program_test::FakeProgram;
using program_test::Stateless;
using testing::ElementsAre;
using testing::HasSubstr;

const BoundInput kFourVectors{"x", {DType::kF32, {4, 16}}};

Trace TraceStateless(
    const std::function<at::Tensor(const at::Tensor&)>& function,
    const TraceOptions& options = {}, BoundInput input = kFourVectors) {
  return TraceProgram(FakeProgram("net", {input}, Stateless(function)), {input},
                      options);
}

/// Resident memory from which a peak is counted.
std::int64_t ForgottenPeak() {
  ForgetPeakResidentBytes();
  return PeakResidentBytes();
}

/// Operators that exist on the CPU alone.
void DefineTestOperators() {
  static torch::Library* const library = [] {
    auto* made = new torch::Library(torch::Library::FRAGMENT, "foretell_test",
                                    std::nullopt, __FILE__, __LINE__);
    made->def("pairs(Tensor x) -> Tensor");
    made->def("clear_(Tensor(a!) x) -> Tensor(a!)");
    made->impl("pairs", c10::DispatchKey::CPU, [](const at::Tensor& x) {
      return at::cat({x, x}, 0);
    });
    made->impl("clear_", c10::DispatchKey::CPU,
               [](at::Tensor& x) -> at::Tensor& { return x.zero_(); });
    return made;
  }();
  ASSERT_NE(library, nullptr);
}

at::Tensor CallTestOperator(const char* name, const at::Tensor& x) {
  torch::jit::Stack stack = {x};
  c10::Dispatcher::singleton().findSchemaOrThrow(name, "").callBoxed(&stack);
  return stack.back().toTensor();
}

at::Tensor Pairs(const at::Tensor& x) {
  return CallTestOperator("foretell_test::pairs", x);
}

TEST(TraceLimits, ADataDependentOperatorIsNamedWithTheWayOut) {
  const auto nonzero = [](const at::Tensor& x) { return at::nonzero(x); };
  ExpectError([&] { TraceStateless(nonzero); }, ErrorCode::kUnsupported,
              "net: aten::nonzero in 'net' depends on the content");
  ExpectError([&] { TraceStateless(nonzero); }, ErrorCode::kUnsupported,
              "--trace cpu");
}

TEST(TraceLimits, ADataDependentOperatorRunsOnTheCpu) {
  const Trace trace = TraceStateless(
      [](const at::Tensor& x) { return at::nonzero(at::relu(x)); },
      {.device = TraceDevice::kCpu});
  EXPECT_THAT(TargetsOf(trace.graph), ElementsAre("relu", "nonzero"));
  EXPECT_EQ(trace.outputs[0].type.shape[1], 2);
}

TEST(TraceLimits, EveryRoadToTheContentIsClosed) {
  using Function = std::function<at::Tensor(const at::Tensor&)>;
  const std::vector<std::pair<std::string, Function>> roads = {
      {"masked_select",
       [](const at::Tensor& x) { return at::masked_select(x, at::gt(x, 0)); }},
      {"index",
       [](const at::Tensor& x) { return at::index(x, {at::gt(x, 0)}); }},
      {"_local_scalar_dense",
       [](const at::Tensor& x) { return at::mul(x, x.sum().item()); }},
      {"where", [](const at::Tensor& x) { return at::where(x)[0]; }},
      {"_unique2",
       [](const at::Tensor& x) { return std::get<0>(at::_unique2(x)); }},
      {"bincount",
       [](const at::Tensor& x) { return at::bincount(x.to(at::kLong)[0]); }},
  };
  for (const auto& [name, function] : roads) {
    SCOPED_TRACE(name);
    ExpectError([&, f = function] { TraceStateless(f); },
                ErrorCode::kUnsupported, "depends on the content");
  }
}

TEST(TraceLimits, AnOperatorWithoutMetaKernelRunsOnTheCpuWithAWarning) {
  DefineTestOperators();
  const Trace trace = TraceStateless(
      [](const at::Tensor& x) { return at::relu(Pairs(Pairs(x))); });
  EXPECT_THAT(
      TargetsOf(trace.graph),
      ElementsAre("foretell_test::pairs", "foretell_test::pairs", "relu"));
  EXPECT_EQ(ToString(trace.outputs[0].type), "f32[16,16]");
  ASSERT_THAT(trace.warnings, ElementsAre(HasSubstr("foretell_test::pairs")));
  EXPECT_THAT(trace.warnings[0], HasSubstr("no meta kernel"));
}

TEST(TraceLimits, AnOperatorWithoutMetaKernelMustBeSmall) {
  DefineTestOperators();
  ExpectError(
      [] {
        TraceStateless(Pairs, {}, {"x", {DType::kF32, {1 << 15, 1 << 10}}});
      },
      ErrorCode::kUnsupported, "foretell_test::pairs");
}

TEST(TraceLimits, AnOperatorWithoutMetaKernelMustNotWrite) {
  DefineTestOperators();
  ExpectError(
      [] {
        TraceStateless([](const at::Tensor& x) {
          return CallTestOperator("foretell_test::clear_", at::relu(x));
        });
      },
      ErrorCode::kUnsupported, "writes into its argument");
}

TEST(TraceLimits, AnOperatorWithoutMetaKernelCannotBeTrained) {
  DefineTestOperators();
  const auto network =
      [](program_test::Weights& weights) -> program_test::Forward {
    const at::Tensor w = weights.Parameter("w", {16});
    return [w](program_test::Tensors inputs) -> program_test::Tensors {
      return {Pairs(at::mul(inputs[0], w))};
    };
  };
  const Program program = FakeProgram("net", {kFourVectors}, network);
  EXPECT_NO_THROW(TraceProgram(program, {kFourVectors}));
  ExpectError(
      [&] {
        TraceProgram(program, {kFourVectors},
                     {.run = {.mode = Mode::kTraining}});
      },
      ErrorCode::kUnsupported, "gradient");
}

TEST(TraceLimits, CuttingATensorIntoCountlessPartsIsRefused) {
  const BoundInput tall{"x", {DType::kF32, {100'000'000, 2}}};
  const std::int64_t resident = ForgottenPeak();
  ExpectError(
      [&] {
        TraceStateless([](const at::Tensor& x) { return x.unbind()[0]; }, {},
                       tall);
      },
      ErrorCode::kUnsupported, "aten::unbind in 'net' makes 100000000 tensors");
  ExpectError(
      [&] {
        TraceStateless([](const at::Tensor& x) { return x.split(2, -2)[0]; },
                       {}, tall);
      },
      ErrorCode::kUnsupported, "aten::split in 'net' makes 50000000 tensors");
  EXPECT_LT(PeakResidentBytes() - resident, kMaxResidentGrowth);
  const Trace trace = TraceStateless(
      [](const at::Tensor& x) { return x.split(50'000'000)[1]; }, {}, tall);
  EXPECT_EQ(ToString(trace.outputs[0].type), "f32[50000000,2]");
}

TEST(TraceLimits, SmallTensorsOnTheHostDoNotFillTheMemory) {
  const auto hoard = [](const at::Tensor& x) {
    std::vector<at::Tensor> kept;
    while (true) kept.push_back(at::zeros({1 << 20}));
    return x;
  };
  ExpectError([&] { TraceStateless(hoard); }, ErrorCode::kInvalidArgument,
              "bytes on the host, together with the others there");
  const auto reuse = [](const at::Tensor& x) {
    for (int i = 0; i < 500; ++i) at::zeros({1 << 20});
    return at::relu(x);
  };
  EXPECT_NO_THROW(TraceStateless(reuse));
}

TEST(TraceLimits, AProductOfDifferentTypesIsRefusedAsEagerCodeWould) {
  const auto product = [](const at::Tensor& x) {
    return at::matmul(x, at::empty({16, 3}, x.options().dtype(at::kHalf)));
  };
  for (const TraceDevice device : {TraceDevice::kMeta, TraceDevice::kCpu}) {
    ExpectError([&] { TraceStateless(product, {.device = device}); },
                ErrorCode::kInvalidArgument,
                "aten::matmul in 'net' multiplies elements of type f32 and "
                "f16, which must be the same");
  }
}

TEST(TraceLimits, FormsThatDoNotExistAreRefused) {
  const auto expect = [](const std::function<at::Tensor(const at::Tensor&)>& f,
                         const std::string& part) {
    ExpectError([&] { TraceStateless(f); }, ErrorCode::kInvalidArgument, part);
  };
  const auto type = static_cast<at::ScalarType>(-5);
  expect([&](const at::Tensor& x) { return at::softmax(x, 0, type); },
         "aten::softmax in 'net' is given element type -5, there are 0 to ");
  expect([&](const at::Tensor& x) { return x.to(type); }, "element type -5");
  expect([](const at::Tensor& x) { return x.to(at::ScalarType::Undefined); },
         "is given element type");
  expect(
      [](const at::Tensor& x) {
        return at::empty_like(x, x.options().layout(at::Layout::NumOptions));
      },
      "layout 8, there are 0 to 7");
  expect(
      [](const at::Tensor& x) {
        return at::clone(x, at::MemoryFormat::NumOptions);
      },
      "memory format 4, there are 0 to 3");
  EXPECT_NO_THROW(TraceStateless([](const at::Tensor& x) {
    return at::clone(x.to(at::kHalf), at::MemoryFormat::Preserve);
  }));
}

TEST(TraceLimits, AbsurdSizesAreRefusedBeforeMemoryIsTouched) {
  const std::int64_t resident = ForgottenPeak();
  const auto outer = [](const at::Tensor& x) {
    return at::matmul(x, x.transpose(0, 1));
  };
  ExpectError(
      [&] {
        TraceStateless(outer, {}, {"x", {DType::kF32, {1 << 26, 1}}});
      },
      ErrorCode::kInvalidArgument,
      "aten::matmul in 'net' asks for a tensor of 18014398509481984 bytes");
  const std::int64_t huge = std::int64_t{1} << 31;
  ExpectError(
      [&] {
        TraceStateless(outer, {}, {"x", {DType::kF32, {huge, huge}}});
      },
      ErrorCode::kInvalidArgument, "net: ");
  ExpectError(
      [] {
        TraceStateless([](const at::Tensor& x) {
          return at::zeros({std::int64_t{1} << 31, std::int64_t{1} << 31},
                           x.options());
        });
      },
      ErrorCode::kInvalidArgument, "net: ");
  EXPECT_LT(PeakResidentBytes() - resident, kMaxResidentGrowth);
}

TEST(TraceLimits, AbsurdSizesOnTheHostAreRefused) {
  ExpectError(
      [] {
        TraceStateless([](const at::Tensor& x) {
          return at::add(x, at::zeros({1 << 27}).sum());
        });
      },
      ErrorCode::kInvalidArgument,
      "aten::zeros in 'net' asks for a tensor of 536870912 bytes on the host");
}

TEST(TraceLimits, AnEndlessProgramEnds) {
  const auto endless = [](const at::Tensor& x) {
    at::Tensor y = x;
    while (true) y = at::relu(y);
    return y;
  };
  ExpectError([&] { TraceStateless(endless); }, ErrorCode::kUnsupported,
              "a trace has at most 150000");
}

}  // namespace
}  // namespace foretell
