#include "src/kernels/cublas.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "foretell/graph_io.h"
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

/// Operators made of others whose kernels depend on their operands.
std::vector<Call> Calls() {
  const std::string m = "input f32[4,4]";
  return {
      {LayerCall("lstm", "32", true)},
      {LayerCall("gru", "24", false)},
      {LayerCall("rnn_tanh", "8", false)},
      {LayerCall("rnn_relu", "8", false)},
      {"%x = input f32[7,2,8]\n%h = input f32[1,2,8]\n"
       "%w = parameter f32[24,8]\n"
       "%g = _cudnn_rnn_backward(%x, %w, %w, %h, %x, %x) {mode=3, "
       "num_layers=1, weight_stride0=2} : f32[7,2,8]\n"},
      {"%y = addmm(input f32[4], " + m + ", " + m + ") : f32[4,4]\n", true},
      {"%y = linear(" + m + ", " + m + ") : f32[4,4]\n", true},
      {"%y = addbmm(" + m +
           ", input f32[2,4,3], input f32[2,3,4]) : "
           "f32[4,4]\n",
       true},
      {"%y = addr(" + m +
       ", input f32[4], input f32[4]) : f32[4,4]\n"
       "| %c = unsqueeze(%y.input1) {dim=1} : f32[4,1] alias %y.input1\n"
       "| %y = addcmul(%y.input0, %c, %y.input2)\n"},
      {"%y = chain_matmul(" + m + ", " + m + ") : f32[4,4]\n", true},
      {"%y = linalg_multi_dot(" + m + ", " + m + ", input f32[4]) : f32[4]\n",
       true},
      {"%y = linalg_matrix_power(" + m + ") {n=3} : f32[4,4]\n", true},
      {"%y = matrix_power(" + m + ") {n=3} : f32[4,4]\n", true},
      {"%y = matrix_power(" + m + ") {n=1} : f32[4,4]\n"},
      {"%y = tensordot(" + m + ", " + m +
           ") {dims_self=[1], dims_other=[0]} : f32[4,4]\n",
       true},
      {"%y = _trilinear(input f32[5,4], parameter f32[3,4,2], input f32[5,2]) "
       "{expand1=[1,3], expand2=[0], expand3=[1,2], sumdim=[2,3], "
       "unroll_dim=1} : f32[5,3]\n",
       true},
      {SameCall("_convolution_mode", "8,8", "4,4")},
      {SameCall("conv1d", "8", "4")},
      {SameCall("conv2d", "8,8", "4,4")},
      {SameCall("conv3d", "8,8,8", "4,4,4")},
  };
}

TEST(CublasNodes, AreThoseWhoseSourceMultipliesMatrices) {
  for (const Call& call : Calls()) {
    EXPECT_EQ(UsesCublas(call.text), call.uses_cublas) << call.text;
  }
}

TEST(CublasNodes, AreNoLosses) {
  for (const std::string target :
       {"binary_cross_entropy", "huber_loss", "mse_loss", "smooth_l1_loss"}) {
    EXPECT_FALSE(UsesCublas("%y = " + target +
                            "(input f32[4,4], input f32[4,4]) : f32[]\n"))
        << target;
  }
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
