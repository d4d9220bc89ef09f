#include "frontends/onnx/ops/matrix.h"

#include <ATen/ATen.h>
#include <fmt/core.h>

#include <cmath>
#include <string>
#include <vector>

#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/type_support.h"

namespace foretell::onnx {
namespace {

void LowerMatMul(NodeContext& ctx) {
  const at::Tensor a = ctx.Tensor(0);
  const at::Tensor y = at::matmul(Computable(a), Computable(ctx.Tensor(1)));
  ctx.Set(0, CastTo(y, a.scalar_type()));
}

void LowerGemm(NodeContext& ctx) { ctx.Set(0, Gemm(ctx)); }

/// `name` as a number by which ATen multiplies tensors of `type`: integer
/// matrices accept only integer factors.
at::Scalar Factor(const NodeContext& ctx, const char* name,
                  at::ScalarType type) {
  const double factor = ctx.FloatAttribute(name, 1.0);
  if (at::isFloatingType(type)) return factor;
  if (factor != std::trunc(factor)) {
    FailAttribute(ctx, name, fmt::format("{:f} of integer matrices", factor));
  }
  return static_cast<std::int64_t>(factor);
}

bool IsOne(const at::Scalar& factor) { return factor.toDouble() == 1.0; }

/// What nn.Linear computes: transposed weight, and one bias per column or none.
bool IsLinear(const at::Tensor& b, const at::Tensor& c) {
  return b.is_floating_point() &&
         (!c.defined() || (c.dim() == 1 && c.size(0) == b.size(0)));
}

void LowerEinsum(NodeContext& ctx) {
  std::vector<at::Tensor> operands;
  for (size_t i = 0; i < ctx.num_inputs(); ++i) {
    operands.push_back(Computable(ctx.Tensor(i)));
  }
  const at::ScalarType type = ctx.Tensor(0).scalar_type();
  const std::string equation =
      ctx.RequireAttribute("equation", Attribute::Kind::kString).s;
  ctx.Set(0, CastTo(at::einsum(equation, operands), type));
}

/// LibTorch factorises matrices of 32 and 64 bits only, on every device.
void LowerDet(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const bool is_wide = at::elementSize(x.scalar_type()) >= 4;
  const at::Tensor y = at::linalg_det(is_wide ? x : x.to(at::kFloat));
  ctx.Set(0, CastTo(y, x.scalar_type()));
}

constexpr OnnxOperator kMatrixOperators[] = {
    {"Det", {11, kAny}, &LowerDet},
    {"Einsum", {12, kAny}, &LowerEinsum},
    {"Gemm", {1, kAny}, &LowerGemm},  // 11: C optional
    {"MatMul", {1, kAny}, &LowerMatMul},
};

}  // namespace

at::Tensor Gemm(NodeContext& ctx) {
  const at::Tensor left = ctx.Tensor(0);
  const at::ScalarType type = left.scalar_type();
  at::Tensor a = Computable(left);
  const at::Tensor b = Computable(ctx.Tensor(1));
  const at::Tensor c = ctx.Has(2) ? Computable(ctx.Tensor(2)) : at::Tensor();
  ctx.Check(a.dim() == 2 && b.dim() == 2,
            "A and B have ranks {} and {}, expected 2", a.dim(), b.dim());
  const at::Scalar alpha = Factor(ctx, "alpha", a.scalar_type());
  const at::Scalar beta = Factor(ctx, "beta", a.scalar_type());
  const bool transposes_b = ctx.IntAttribute("transB", 0) != 0;
  if (ctx.IntAttribute("transA", 0) != 0) a = a.t();
  if (transposes_b && IsOne(alpha) && IsOne(beta) && IsLinear(b, c)) {
    return at::linear(a, b, c);
  }
  const at::Tensor right = transposes_b ? b.t() : b;
  if (c.defined()) {
    return CastTo(at::addmm(c, a, right, beta, alpha), type);
  }
  const at::Tensor product = at::mm(a, right);
  return CastTo(IsOne(alpha) ? product : product * alpha, type);
}

std::span<const OnnxOperator> MatrixOperators() { return kMatrixOperators; }

}  // namespace foretell::onnx
