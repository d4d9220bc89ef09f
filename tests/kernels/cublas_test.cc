#include "src/kernels/cublas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/graph_io.h"
#include "src/kernels/composites.h"
#include "tests/kernels/kernels_of.h"

// What PyTorch's source calls: at::cuda::blas and what is built on it (mm, bmm,
// addmm, mv, dot) take a cuBLAS handle, everything else does not.

namespace foretell::cost {
namespace {

/// One per node of a graph in text form without its header.
std::vector<bool> CublasNodesOf(const std::string& body, const Run& run = {}) {
  return CublasNodes(ParseGraph("graph \"g\"\n" + body), run);
}

bool UsesCublas(const std::string& body, const Run& run = {}) {
  const std::vector<bool> nodes = CublasNodesOf(body, run);
  return std::ranges::count(nodes, true) > 0;
}

struct Call {
  std::string target;
  std::string text;
  bool uses_cublas = false;
};

std::string LayerCall(const std::string& target, const std::string& gates,
                      bool has_cell_state) {
  const std::string weight = "parameter f32[" + gates + ",8]";
  return "%x = input f32[7,2,8]\n%h = input f32[1,2,8]\n%y, %n" +
         std::string(has_cell_state ? ", %c" : "") + " = " + target +
         "(%x, %h" + (has_cell_state ? ", %h" : "") + ", " + weight + ", " +
         weight + ") : f32[7,2,8], f32[1,2,8]" +
         (has_cell_state ? ", f32[1,2,8]" : "") + "\n";
}

/// A convolution with the word "same" of an even window.
std::string SameCall(const std::string& target, const std::string& sizes,
                     const std::string& window) {
  return "%x = input f32[2,4," + sizes + "]\n%y = " + target +
         "(%x, parameter f32[6,4," + window +
         "]) {padding=\"same\"} : f32[2,6," + sizes + "]\n";
}

/// Composites whose kernels depend on their operands, and those that multiply.
std::vector<Call> Calls() {
  const std::string m = "input f32[4,4]";
  return {
      {"lstm", LayerCall("lstm", "32", true)},
      {"gru", LayerCall("gru", "24", false)},
      {"rnn_tanh", LayerCall("rnn_tanh", "8", false)},
      {"rnn_relu", LayerCall("rnn_relu", "8", false)},
      {"_cudnn_rnn_backward",
       "%x = input f32[7,2,8]\n%h = input f32[1,2,8]\n"
       "%w = parameter f32[24,8]\n"
       "%g = _cudnn_rnn_backward(%x, %w, %w, %h, %x, %x) {mode=3, "
       "num_layers=1, weight_stride0=2} : f32[7,2,8]\n"},
      {"addmm", "%y = addmm(input f32[4], " + m + ", " + m + ") : f32[4,4]\n",
       true},
      {"linear", "%y = linear(" + m + ", " + m + ") : f32[4,4]\n", true},
      {"addbmm",
       "%y = addbmm(" + m +
           ", input f32[2,4,3], input f32[2,3,4]) : "
           "f32[4,4]\n",
       true},
      {"addr", "%y = addr(" + m + ", input f32[4], input f32[4]) : f32[4,4]\n"},
      {"chain_matmul", "%y = chain_matmul(" + m + ", " + m + ") : f32[4,4]\n",
       true},
      {"linalg_multi_dot",
       "%y = linalg_multi_dot(" + m + ", " + m + ", input f32[4]) : f32[4]\n",
       true},
      {"linalg_matrix_power",
       "%y = linalg_matrix_power(" + m + ") {n=3} : f32[4,4]\n", true},
      {"matrix_power", "%y = matrix_power(" + m + ") {n=3} : f32[4,4]\n", true},
      {"matrix_power", "%y = matrix_power(" + m + ") {n=1} : f32[4,4]\n"},
      {"tensordot",
       "%y = tensordot(" + m + ", " + m +
           ") {dims_self=[1], dims_other=[0]} : f32[4,4]\n",
       true},
      {"_trilinear",
       "%y = _trilinear(input f32[5,4], parameter f32[3,4,2], input f32[5,2]) "
       "{expand1=[1,3], expand2=[0], expand3=[1,2], sumdim=[2,3], "
       "unroll_dim=1} : f32[5,3]\n",
       true},
      {"_convolution_mode", SameCall("_convolution_mode", "8,8", "4,4")},
      {"conv1d", SameCall("conv1d", "8", "4")},
      {"conv2d", SameCall("conv2d", "8,8", "4,4")},
      {"conv3d", SameCall("conv3d", "8,8,8", "4,4,4")},
  };
}

TEST(CublasNodes, AreThoseWhoseSourceMultipliesMatrices) {
  for (const Call& call : Calls()) {
    EXPECT_EQ(UsesCublas(call.text), call.uses_cublas) << call.text;
  }
}

/// Losses, distances, fills: what they call takes two tensors alike.
TEST(CublasNodes, AreNoneOfTheOtherComposites) {
  const std::vector<Call> calls = Calls();
  int others = 0;
  for (const auto& family_of : kCompositeFamilies) {
    for (const Composite& composite : family_of()) {
      const std::string target(composite.target);
      if (std::ranges::find(calls, target, &Call::target) != calls.end()) {
        continue;
      }
      ++others;
      EXPECT_FALSE(UsesCublas("%y = " + target +
                              "(input f32[4,4], input f32[4,4]) {dim=[1], "
                              "dims=[0, 1], train=true} : f32[4,4]\n"))
          << target;
    }
  }
  EXPECT_GE(others, 1);
}

TEST(CublasNodes, AreThoseWhoseCallsMultiply) {
  EXPECT_FALSE(
      UsesCublas("%y = outer(input f32[4], input f32[5]) : f32[4,5]\n"
                 "| %c = view(%y.input0) : f32[4,1] alias %y.input0\n"
                 "| %y = mul(%c, %y.input1)\n"));
  EXPECT_TRUE(
      UsesCublas("%y = cdist(input f32[40,4], input f32[9,4]) : f32[40,9]\n"
                 "| %t = t(%y.input1) : f32[4,9] alias %y.input1\n"
                 "| %p = mm(%y.input0, %t) : f32[40,9]\n"
                 "| %y = sqrt(%p)\n"));
}

TEST(CublasNodes, AreFoundNodeByNode) {
  EXPECT_EQ(CublasNodesOf(R"(%x = input f32[2,8]
%a = linear(%x, weight f32[8,8]) : f32[2,8]
%b = mm(%a, weight f32[8,8]) : f32[2,8]
%c = relu(%b) : f32[2,8]
%d = mv(%c, weight f32[8]) : f32[2]
%e = dot(%d, %d) : f32[]
)"),
            (std::vector<bool>{true, true, false, true, true}));
}

TEST(CublasNodes, HaveConvolutionsOnlyWherePyTorchUnfoldsThem) {
  const std::string volumes =
      "%x = input f16[2,4,6,6,6]\n%y = conv3d(%x, weight f16[8,4,3,3,3]) "
      "{padding=[1,1,1]} : f16[2,8,6,6,6]\n";
  EXPECT_TRUE(UsesCublas(volumes, {.torch = {2, 9}}));
  EXPECT_FALSE(UsesCublas(volumes, {.torch = {2, 8}}));
  EXPECT_FALSE(UsesCublas(volumes, {.torch = {2, 10}}));
}

TEST(CublasNodes, LeaveSparseAndPackedProductsToOthers) {
  EXPECT_FALSE(
      UsesCublas("%y = _weight_int8pack_mm(input f16[4,8], weight i8[6,8], "
                 "weight f16[6]) : f16[4,6]\n"));
  EXPECT_FALSE(UsesCublas(
      "%y = _sparse_mm(input f32[4,8], input f32[8,6]) : f32[4,6]\n"));
  EXPECT_TRUE(
      UsesCublas("%y = _int_mm(input i8[32,8], input i8[8,8]) : i32[32,8]\n"));
}

}  // namespace
}  // namespace foretell::cost
