#include "src/features/kernel_edges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "foretell/graph_io.h"
#include "src/features/terms.h"

namespace foretell::learned {
namespace {

/// Edges between all kernels of a graph in text form.
KernelEdges EdgesIn(const char* text, const Run& run = {}) {
  const OperatorGraph graph = ParseGraph(text);
  return EdgesOfKernels(graph, cost::ExpandKernels(graph, run));
}

TEST(KernelEdges, LeadFromWhoWritesToWhoReads) {
  const KernelEdges edges = EdgesIn(R"(graph "g"
%x = input f32[64,64]
%a = relu(%x) : f32[64,64]
%b = sigmoid(%x) : f32[64,64]
%c = add(%a, %b) : f32[64,64]
%d = mul(%c, %c) : f32[64,64]
)");
  EXPECT_EQ(edges, (KernelEdges{{0, 1, 2}, {2, 2, 3}}));
}

TEST(KernelEdges, SeeThroughViewsAndInPlaceOperators) {
  // relu_ writes the storage of %a, which the view looks at.
  const KernelEdges edges = EdgesIn(R"(graph "g"
%x = input f32[64,64]
%a = sigmoid(%x) : f32[64,64]
%r = relu_(%a) : f32[64,64] alias %a
%v = view(%r) {size=[4096]} : f32[4096] alias %r
%y = tanh(%v) : f32[4096]
)");
  EXPECT_EQ(edges, (KernelEdges{{0, 1}, {1, 2}}));
}

TEST(KernelEdges, JoinTheKernelsOfOneOperator) {
  // Attention in three dimensions: scales twice, multiplies, normalizes,
  // multiplies again.
  const OperatorGraph graph = ParseGraph(R"(graph "g"
%x = input f32[4,64,64]
%a = relu(%x) : f32[4,64,64]
%y = scaled_dot_product_attention(%a, %a, %a) : f32[4,64,64]
| %q = mul(%a) : f32[4,64,64]
| %k = mul(%a) : f32[4,64,64]
| %s = bmm(%q, %k) : f32[4,64,64]
| %p = softmax(%s) : f32[4,64,64]
| %y = bmm(%p, %a)
)");
  const std::vector<cost::Kernel> kernels = cost::ExpandKernels(graph, {});
  ASSERT_EQ(kernels.size(), 6);
  EXPECT_EQ(kernels[4].kernel_class, cost::KernelClass::kSoftmax);
  // Each of the five reads from the ReLU, and from the one before it.
  EXPECT_EQ(
      EdgesOfKernels(graph, kernels),
      (KernelEdges{{0, 0, 1, 0, 2, 0, 3, 0, 4}, {1, 2, 2, 3, 3, 4, 4, 5, 5}}));
}

TEST(KernelEdges, PassOverKernelsThatWereLeftOut) {
  const OperatorGraph graph = ParseGraph(R"(graph "g"
%x = input f32[64,64]
%a = relu(%x) : f32[64,64]
%b = sigmoid(%a) : f32[64,64]
%c = tanh(%b) : f32[64,64]
)");
  std::vector<cost::Kernel> kernels = cost::ExpandKernels(graph, {});
  kernels.erase(kernels.begin() + 1);
  EXPECT_EQ(EdgesOfKernels(graph, kernels), (KernelEdges{{0}, {1}}));
}

TEST(KernelGraphs, MergeEqualKernelsThatReadFromEqualOnes) {
  // Tanh and sigmoid are equal kernels. %a and %d are equal, too, but one
  // reads the input and the other what a sigmoid wrote.
  const OperatorGraph graph = ParseGraph(R"(graph "g"
%x = input f32[64,64]
%a = relu(%x) : f32[64,64]
%b = tanh(%a) : f32[64,64]
%c = sigmoid(%b) : f32[64,64]
%d = relu(%c) : f32[64,64]
%e = tanh(%d) : f32[64,64]
%f = sigmoid(%e) : f32[64,64]
)");
  const std::vector<cost::Kernel> kernels = cost::ExpandKernels(graph, {});
  ASSERT_EQ(kernels.size(), 6);
  const KernelGraph merged =
      MergeAlike({kernels, EdgesOfKernels(graph, kernels)});
  std::vector<std::int64_t> counts;
  for (const cost::Kernel& kernel : merged.kernels) {
    counts.push_back(kernel.count);
  }
  EXPECT_EQ(counts, (std::vector<std::int64_t>{1, 2, 2, 1}));
  std::set<std::pair<std::int64_t, std::int64_t>> edges;
  for (std::size_t i = 0; i < merged.edges.sources.size(); ++i) {
    edges.emplace(merged.edges.sources[i], merged.edges.targets[i]);
  }
  EXPECT_EQ(edges, (std::set<std::pair<std::int64_t, std::int64_t>>{
                       {0, 1}, {1, 2}, {1, 3}}));
  EXPECT_EQ(merged.edges.sources.size(), 3);
}

TEST(KernelGraphTerms, AreThePortableTermsOneByOne) {
  // Two equal ReLUs are one portable term with twice the amount.
  const OperatorGraph graph = ParseGraph(R"(graph "g"
%x = input f32[4096,4096]
%a = relu(%x) : f32[4096,4096]
%b = relu(%a) : f32[4096,4096]
)");
  const DeviceSpec& device =
      DeviceCatalog::BuiltIn().FindDevice("a100-sxm4-40gb");
  const TermContext context{device, {}, {}};
  const TermTable merged = PortableKernelTerms(graph, context);
  const TermTable apart = KernelGraphTerms(graph, context);
  ASSERT_EQ(merged.num_terms(), 3);
  ASSERT_EQ(apart.num_terms(), 4);
  EXPECT_EQ(apart.classes[0], merged.classes[0]);
  EXPECT_EQ(apart.classes[1], merged.classes[0]);
  EXPECT_FLOAT_EQ(apart.amounts[0] + apart.amounts[1], merged.amounts[0]);
  const auto features = std::ranges::search(apart.features, merged.features);
  EXPECT_FALSE(features.empty());
  EXPECT_EQ(apart.totals, merged.totals);
  EXPECT_EQ(apart.sources, std::vector<std::int64_t>{0});
  EXPECT_EQ(apart.targets, std::vector<std::int64_t>{1});
  EXPECT_TRUE(merged.sources.empty());
}

}  // namespace
}  // namespace foretell::learned
