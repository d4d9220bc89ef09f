#include "src/kernels/operand_copies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "foretell/graph_io.h"

namespace foretell::cost {
namespace {

using testing::ElementsAre;
using testing::Pair;

/// Bytes of the copies of the last node, and whether the trace shows them.
std::vector<std::pair<std::int64_t, bool>> CopiesOf(const std::string& body) {
  const OperatorGraph graph = ParseGraph("graph \"g\"\n" + body);
  const Tensors tensors(graph);
  std::vector<std::pair<std::int64_t, bool>> copies;
  for (const OperandCopy& copy : OperandCopies(graph, graph.nodes().back(), {}))
    copies.emplace_back(CopyBytes(tensors, copy.operand), copy.traced);
  return copies;
}

TEST(OperandCopies, OfANormsGradientAreBothOperands) {
  EXPECT_THAT(CopiesOf(R"(%x = input f32[2,8,36]
%a = permute(%x) {dims=[0, 2, 1]} : f32[2,36,8] strides=[288, 1, 36] alias %x
%b = native_layer_norm_backward(%a, %a, parameter f32[8]) : f32[2,36,8]
)"),
              ElementsAre(Pair(576 * 4, false), Pair(576 * 4, false)));
}

TEST(OperandCopies, OfAConvolutionIsWhatIsInNeitherFormat) {
  EXPECT_THAT(CopiesOf(R"(%x = input f16[2,8,6,6]
%a = transpose(%x) {dim0=2, dim1=3} : f16[2,8,6,6] strides=[288, 36, 1, 6] alias %x
%b = conv2d(%a, parameter f16[8,8,1,1]) : f16[2,8,6,6]
)"),
              ElementsAre(Pair(576 * 2, false)));
}

// `matmul` folds its batch with a copy of its own, which the trace shows.
TEST(OperandCopies, OfABatchThatDoesNotFoldIsTraced) {
  EXPECT_THAT(CopiesOf(R"(%x = input f32[2,5,3,4]
%a = permute(%x) {dims=[0, 2, 1, 3]} : f32[2,3,5,4] strides=[60, 4, 12, 1] alias %x
%y = input f32[2,3,4,5]
%b = matmul(%a, %y) : f32[2,3,5,5]
)"),
              ElementsAre(Pair(120 * 4, true)));
}

// cuBLAS has no distance of 0 between rows: the gradient of a sum is copied.
TEST(OperandCopies, OfAnExpandedMatrixHasAllItsElements) {
  EXPECT_THAT(CopiesOf(R"(%x = input f32[]
%a = expand(%x) {size=[4, 6]} : f32[4,6] strides=[0, 0] alias %x
%b = mm(%a, input f32[6,5]) : f32[4,5]
)"),
              ElementsAre(Pair(24 * 4, false)));
}

}  // namespace
}  // namespace foretell::cost
