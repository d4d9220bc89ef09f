#include "src/program/rotation_adapter.h"

#include <ATen/core/List.h>
#include <ATen/ops/add.h>
#include <ATen/ops/block_diag.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/einsum.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linalg_solve.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/unbind.h>
#include <ATen/ops/zeros.h>
#include <fmt/core.h>

#include <cstdint>
#include <optional>

#include "foretell/error.h"
#include "src/program/weighted_operators.h"

namespace foretell {
namespace {

/// The nearest divisor of `width`, the smaller of two: adjust_oft_parameters.
std::int64_t NearestDivisor(std::int64_t width, std::int64_t wanted) {
  if (wanted >= width) return width;
  std::int64_t above = wanted;
  while (width % above != 0) ++above;
  std::int64_t below = wanted;
  while (width % below != 0) --below;
  return wanted - below <= above - wanted ? below : above;
}

/// [blocks, size, size] from the elements above the diagonals.
at::Tensor SkewSymmetric(const std::vector<NamedTensor>& parts,
                         std::int64_t size) {
  const at::Tensor& triangles = parts[0].tensor;
  at::Tensor matrix =
      at::zeros({triangles.size(0), size, size}, triangles.options());
  c10::List<std::optional<at::Tensor>> places;
  places.push_back(std::nullopt);
  places.push_back(parts[1].tensor);
  places.push_back(parts[2].tensor);
  matrix.index_put_(places, triangles);
  return at::sub(matrix, matrix.transpose(-2, -1));
}

/// Cayley's transformation by five terms of Neumann's series.
at::Tensor CayleyNeumann(const std::vector<NamedTensor>& parts,
                         std::int64_t size) {
  const at::Tensor skew = SkewSymmetric(parts, size);
  at::Tensor sum = at::eye(size, skew.options()).repeat({skew.size(0), 1, 1});
  sum.add_(skew, 2.0);
  const at::Tensor square = at::bmm(skew, skew);
  sum.add_(square, 2.0);
  at::Tensor power = at::bmm(square, skew);
  sum.add_(power, 2.0);
  power = at::bmm(power, skew);
  sum.add_(power);
  return InType(sum, parts[0].tensor.scalar_type());
}

/// OFTRotationModule.forward.
at::Tensor TurnedByOft(const LayerAdapter& adapter, const at::Tensor& x) {
  const std::int64_t width = x.size(-1);
  const std::int64_t blocks = adapter.parts[0].tensor.size(0);
  const at::Tensor rotation = CayleyNeumann(adapter.parts, width / blocks);
  std::vector<std::int64_t> sizes = x.sizes().vec();
  sizes.back() = blocks;
  sizes.push_back(width / blocks);
  const at::Tensor folded = x.reshape(sizes);
  const at::Tensor turned = at::einsum("...rk,rkc->...rc", {folded, rotation});
  return turned.reshape(x.sizes());
}

/// BOFT's cayley_batch; the unit matrix is f32 whatever the blocks are.
at::Tensor CayleySolved(const at::Tensor& data) {
  const at::Tensor skew = at::mul(at::sub(data, data.transpose(1, 2)), 0.5);
  const at::Tensor unit =
      at::eye(data.size(1), data.options().dtype(at::kFloat))
          .unsqueeze(0)
          .expand(data.sizes());
  const at::Tensor solved = at::linalg_solve(
      at::add(unit, skew), at::sub(unit, skew), /*left=*/false);
  return InType(solved, data.scalar_type());
}

/// What boft's Linear.forward makes before it calls the layer, the rotated
/// input last.
std::vector<at::Tensor> TurnedByBoft(const LayerAdapter& adapter,
                                     const at::Tensor& x) {
  const at::Tensor& blocks = adapter.parts[0].tensor;
  at::Tensor rotation = at::eye(x.size(-1), x.options());
  at::Tensor scale = at::ones({adapter.weight.size(0), 1}, x.options());
  const at::Tensor turned = CayleySolved(
      blocks.view({blocks.size(1), blocks.size(2), blocks.size(3)}));
  at::Tensor diagonal = at::block_diag(at::unbind(turned)).unsqueeze(0);
  const at::Tensor permutation =
      InType(adapter.parts[2].tensor, x.scalar_type());
  diagonal = InType(diagonal, x.scalar_type());
  at::Tensor whole = at::bmm(diagonal, permutation.permute({0, 2, 1}));
  whole = at::bmm(permutation, whole);
  rotation = at::matmul(whole.select(0, 0), rotation);
  scale = at::mul(adapter.parts[1].tensor, scale);
  rotation = InType(rotation, x.scalar_type());
  at::Tensor result = at::matmul(x, rotation);
  return {turned, scale,    diagonal,         permutation,
          whole,  rotation, std::move(result)};
}

at::Tensor Indices(const at::Tensor& like, std::int64_t count) {
  return at::empty({count}, like.options().dtype(at::kLong));
}

}  // namespace

std::vector<NamedTensor> MakeOftParts(const LoraSpec& spec,
                                      const NamedTensor& weight) {
  const at::Tensor& matrix = weight.tensor;
  const std::int64_t width = matrix.size(1);
  const std::int64_t blocks = spec.rank > 0
                                  ? NearestDivisor(width, spec.rank)
                                  : width / NearestDivisor(width, spec.block);
  const std::int64_t size = width / blocks;
  const std::int64_t elements = size * (size - 1) / 2;
  return {{".oft_R", MakeTrained(spec, matrix, {blocks, elements})},
          {".oft_R.rows", Indices(matrix, elements)},
          {".oft_R.cols", Indices(matrix, elements)}};
}

std::vector<NamedTensor> MakeBoftParts(const LoraSpec& spec,
                                       const NamedTensor& weight) {
  const at::Tensor& matrix = weight.tensor;
  const std::int64_t width = matrix.size(1);
  const std::int64_t given = spec.rank > 0 ? spec.rank : spec.block;
  if (width % given != 0) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("'{}': BOFT's blocks, {}, do not divide {} inputs",
                            weight.name, given, width));
  }
  const std::int64_t blocks = spec.rank > 0 ? spec.rank : width / spec.block;
  const std::int64_t size = width / blocks;
  return {{".boft_R", MakeTrained(spec, matrix, {1, blocks, size, size})},
          {".boft_s", MakeTrained(spec, matrix, {matrix.size(0), 1})},
          {".boft_P",
           at::empty({1, width, width}, matrix.options().dtype(at::kFloat))}};
}

std::vector<at::Tensor> RotatedInput(const LoraSpec& spec,
                                     const LayerAdapter& adapter,
                                     const at::Tensor& input) {
  if (spec.method == AdapterMethod::kBoft) {
    return TurnedByBoft(adapter, input);
  }
  at::Tensor x = TurnedByOft(
      adapter, InType(input, adapter.parts[0].tensor.scalar_type()));
  at::Tensor result = InType(x, input.scalar_type());
  return {std::move(x), std::move(result)};
}

at::Tensor ScaledResult(at::Tensor result, const at::Tensor& bias,
                        const at::Tensor& scale) {
  if (bias.defined()) result = at::sub(result, bias);
  result = at::mul(result, scale.squeeze(-1));
  return bias.defined() ? at::add(result, bias) : result;
}

}  // namespace foretell
