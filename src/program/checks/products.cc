// Products and what is added to them.
#include <ATen/ExpandUtils.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "src/core/failure.h"
#include "src/program/checks/families.h"
#include "src/program/checks/predicates.h"

namespace foretell::checks {
namespace {

void RequireSum(const at::Tensor& sum, const Sizes& product) {
  RequireExpands(sum, "a sum", product);
}

/// addmm: expand_size in structured_addmm_out_cpu and its CUDA counterpart
/// (LinearAlgebra.cpp).
void CheckAddmm(const Call& call) {
  const at::Tensor& left = call.Tensor("mat1");
  const at::Tensor& right = call.Tensor("mat2");
  if (left.dim() != 2 || right.dim() != 2) return;
  RequireSum(call.Tensor("self"), {left.size(0), right.size(1)});
}

/// addbmm_impl_ (LinearAlgebra.cpp).
void CheckAddbmm(const Call& call) {
  const at::Tensor& left = call.Tensor("batch1");
  const at::Tensor& right = call.Tensor("batch2");
  RequireRank(left, "batch1", 3, 3);
  RequireRank(right, "batch2", 3, 3);
  RequireShape(right, "batch2", {left.size(0), left.size(2), right.size(2)});
  RequireTypeOf(left, "batch1", right, "batch2");
  RequireTypeOf(call.Tensor("self"), "a sum", left, "batch1");
  RequireSum(call.Tensor("self"), {left.size(1), right.size(2)});
}

/// addmv: CUDA copies a sum of another type (Blas.cpp).
void CheckAddmv(const Call& call) {
  RequireTypeOf(call.Tensor("mat"), "a matrix", call.Tensor("vec"), "a vector");
}

/// addr, one kernel of TensorIterator (LinearAlgebra.cpp).
void CheckAddr(const Call& call) {
  const at::Tensor& left = call.Tensor("vec1");
  const at::Tensor& right = call.Tensor("vec2");
  if (left.dim() != 1 || right.dim() != 1) return;
  RequireSum(call.Tensor("self"), {left.size(0), right.size(0)});
}

void CheckAddrInPlace(const Call& call) {
  const at::Tensor& left = call.Tensor("vec1");
  const at::Tensor& right = call.Tensor("vec2");
  if (left.dim() != 1 || right.dim() != 1) return;
  RequireShape(call.Tensor("self"), "a sum", {left.size(0), right.size(0)});
}

/// linear: addmm, or a product and a sum in place (Linear.cpp).
void CheckLinear(const Call& call) {
  const at::Tensor bias = call.TensorOrUndefined("bias");
  const at::Tensor& input = call.Tensor("input");
  const at::Tensor& weight = call.Tensor("weight");
  if (!bias.defined() || input.dim() == 0 || weight.dim() == 0) return;
  Sizes product(input.sizes().begin(), input.sizes().end() - 1);
  if (weight.dim() == 2) product.push_back(weight.size(0));
  RequireSum(bias, product);
}

/// dot_check (Blas.cpp).
void CheckDot(const Call& call) {
  const at::Tensor& left = call.Tensor("self");
  const at::Tensor other = call.Tensor(call.Has("tensor") ? "tensor" : "other");
  RequireRank(left, "a vector", 1, 1);
  RequireRank(other, "a vector", 1, 1);
  RequireTypeOf(left, "a vector", other, "another");
  RequireElements(other, "a vector", left.numel());
}

/// matmul of two vectors is dot.
void CheckMatmul(const Call& call) {
  const at::Tensor& left = call.Tensor("self");
  const at::Tensor& right = call.Tensor("other");
  if (left.dim() != 1 || right.dim() != 1) return;
  RequireElements(right, "a vector", left.numel());
}

/// Whether an index of both operands of `equation` is missing in its result.
bool SumsOver(std::string equation) {
  std::erase(equation, ' ');
  const std::size_t comma = equation.find(',');
  const std::size_t arrow = equation.find("->");
  if (comma == equation.npos || arrow == equation.npos) return false;
  const std::string left = equation.substr(0, comma);
  const std::string right = equation.substr(comma, arrow - comma);
  return std::ranges::any_of(left, [&](char index) {
    return index != '.' && right.find(index) != right.npos &&
           equation.find(index, arrow) == equation.npos;
  });
}

/// einsum of two operands: bmm where an index is summed over (Linear.cpp).
void CheckEinsum(const Call& call) {
  const std::vector<at::Tensor> operands = call.TensorList("tensors");
  if (operands.size() != 2 ||
      operands[0].scalar_type() == operands[1].scalar_type() ||
      !SumsOver(call.Word("equation"))) {
    return;
  }
  RequireTypeOf(operands[0], "an operand", operands[1], "another");
}

/// cdist_impl (Distance.cpp).
void CheckCdist(const Call& call) {
  const at::Tensor& left = call.Tensor("x1");
  const at::Tensor& right = call.Tensor("x2");
  RequireFloats(left);
  RequireFloats(right);
  if (left.numel() > 0 && right.numel() > 0) {
    RequireTypeOf(left, "x1", right, "x2");
  }
  if (call.Double("p", 2) < 0) {
    throw InvalidArgument("has norm {}, expected at least 0",
                          call.Double("p", 2));
  }
  if (left.dim() < 2 || right.dim() < 2) return;
  const at::IntArrayRef batch = left.sizes().slice(0, left.dim() - 2);
  const at::IntArrayRef other = right.sizes().slice(0, right.dim() - 2);
  if (at::are_expandable(batch, other)) return;
  throw InvalidArgument(
      "has batches of shape {} and {}, which have no common shape", Text(batch),
      Text(other));
}

/// conv_tbc (ConvolutionTBC.cpp).
void CheckConvTbc(const Call& call) {
  const at::Tensor& input = call.Tensor("self");
  const at::Tensor& weight = call.Tensor("weight");
  RequireRank(input, "an input", 3, 3);
  RequireRank(weight, "a weight", 3, 3);
  RequireTypeOf(input, "an input", weight, "a weight");
  RequireShape(weight, "a weight",
               {weight.size(0), input.size(2), weight.size(2)});
  RequireShape(call.Tensor("bias"), "a bias", {weight.size(2)});
}

/// _weight_norm (WeightNorm.cpp).
void CheckWeightNorm(const Call& call) {
  RequireFloats(call.Tensor("v"));
  RequireTypeOf(call.Tensor("v"), "v", call.Tensor("g"), "g");
  if (call.Tensor("v").dim() == 0) {
    throw InvalidArgument(
        "normalizes a number, expected a tensor of at least 1 dimension");
  }
}

/// cross (Cross.cpp), complex and polar: no promotion of types.
void CheckCross(const Call& call) {
  RequireTypeOf(call.Tensor("self"), "self", call.Tensor("other"), "other");
}

void CheckComplex(const Call& call) {
  RequireTypeOf(call.Tensor("real"), "real", call.Tensor("imag"), "imag");
}

void CheckPolar(const Call& call) {
  RequireTypeOf(call.Tensor("abs"), "abs", call.Tensor("angle"), "angle");
}

constexpr std::array kProductRows = std::to_array<OperandRow>({
    {"_weight_norm", &CheckWeightNorm},
    {"addbmm", &CheckAddbmm},
    {"addbmm_", &CheckAddbmm},
    {"addmm", &CheckAddmm},
    {"addmm_", &CheckAddmm},
    {"addmv", &CheckAddmv},
    {"addr", &CheckAddr},
    {"addr_", &CheckAddrInPlace},
    {"cdist", &CheckCdist},
    {"complex", &CheckComplex},
    {"conv_tbc", &CheckConvTbc},
    {"cross", &CheckCross},
    {"dot", &CheckDot},
    {"einsum", &CheckEinsum},
    {"linalg_cross", &CheckCross},
    {"linear", &CheckLinear},
    {"matmul", &CheckMatmul},
    {"polar", &CheckPolar},
    {"vdot", &CheckDot},
});

}  // namespace

std::span<const OperandRow> ProductRows() { return kProductRows; }

}  // namespace foretell::checks
