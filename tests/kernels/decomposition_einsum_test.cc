#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "foretell/trace.h"
#include "tests/kernels/decomposition.h"

namespace foretell::cost {
namespace {

struct Equation {
  std::string name;
  std::string text;
  std::vector<std::vector<std::int64_t>> shapes;
};

class DecomposedEinsum : public testing::TestWithParam<Equation> {};

TEST_P(DecomposedEinsum, DoesTheWorkOfItsCalls) {
  InitializeTracing();
  const auto operands = [](at::Device device) {
    std::vector<at::Tensor> made;
    for (const std::vector<std::int64_t>& shape : GetParam().shapes) {
      made.push_back(at::rand(shape, at::TensorOptions(device)));
    }
    return made;
  };
  const std::vector<at::Tensor> real = operands(at::kCPU);
  const Decomposition own =
      Decompose([&] { at::einsum(GetParam().text, real); });
  const OperatorGraph graph = TraceOf([&]() -> std::function<void()> {
    return
        [traced = operands(at::kMeta)] { at::einsum(GetParam().text, traced); };
  });
  ASSERT_EQ(graph.nodes().size(), 1U);
  EXPECT_EQ(WorkOf(graph), WorkOf(own.parts));
}

INSTANTIATE_TEST_SUITE_P(
    Equations, DecomposedEinsum,
    testing::ValuesIn(std::vector<Equation>{
        {"Scores", "bik,bjk->bij", {{2, 5, 8}, {2, 7, 8}}},
        {"CopiesTheLeft", "bhwc,hkc->bhwk", {{2, 3, 5, 4}, {3, 7, 4}}},
        {"CopiesBoth", "bhic,hjbc->ihj", {{2, 3, 5, 4}, {3, 7, 2, 4}}},
        {"TurnsTheResult", "ij,jk->ki", {{3, 4}, {4, 5}}},
        {"OfThree", "ij,jk,kl->il", {{3, 4}, {4, 5}, {5, 2}}},
        {"KeepsAnIndexForLater",
         "bij,bjk,bkl->il",
         {{2, 3, 4}, {2, 4, 5}, {2, 5, 6}}},
        {"Outer", "i,j->ij", {{3}, {4}}},
        {"Elementwise", "ij,ij->ij", {{3, 4}, {3, 4}}},
        {"RowsOfBoth", "ij,ij->i", {{3, 4}, {3, 4}}},
        {"SumsAlone", "ijk,jl->il", {{3, 4, 5}, {4, 6}}},
        {"Ellipsis", "...ij,...jk", {{2, 3, 4}, {2, 4, 5}}},
        {"EllipsisBroadcasts", "...ij,jk->...ik", {{2, 6, 3, 4}, {4, 5}}},
        {"Implicit", "ij,jk", {{3, 4}, {4, 5}}},
        {"Broadcasts", "bij,bjk->bik", {{1, 3, 4}, {2, 4, 5}}},
        {"SumsOne", "bij->bi", {{2, 3, 4}}},
        {"SumsAllOfOne", "ij->", {{3, 4}}},
        {"TurnsOne", "ij->ji", {{3, 4}}},
    }),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace foretell::cost
