// As torchao 0.18 computes them (torchao/quantization/quant_primitives.py). A
// statement per call: Python drops an intermediate result as soon as the next
// is computed, an expression of C++ keeps all to its end.
#include "frontends/exported/affine_quantization.h"

#include <ATen/ATen.h>

#include <cmath>
#include <limits>

#include "src/core/failure.h"

namespace foretell::exported {

CodeRange RangeFor(const NamedArguments& given, at::ScalarType type) {
  if (given.Has("quant_min") && given.Has("quant_max")) {
    return {given.Number("quant_min"), given.Number("quant_max")};
  }
  const auto of = [](auto number) {
    using Limits = std::numeric_limits<decltype(number)>;
    return CodeRange{static_cast<double>(Limits::min()),
                     static_cast<double>(Limits::max())};
  };
  switch (type) {
    case at::kByte:
      return of(std::uint8_t{});
    case at::kChar:
      return of(std::int8_t{});
    case at::kShort:
      return of(std::int16_t{});
    case at::kInt:
      return of(std::int32_t{});
    default:
      throw Unsupported("quantizes to {} without quant_min and quant_max",
                        at::toString(type));
  }
}

at::Tensor FloatOfHalf(const at::Tensor& x) {
  const at::ScalarType type = x.scalar_type();
  const bool is_half = type == at::kHalf || type == at::kBFloat16;
  return is_half ? x.to(at::kFloat) : x;
}

at::Tensor Inverse(const at::Tensor& x) { return at::reciprocal(x).mul(1.0); }

at::Tensor Rounded(at::Tensor x, const at::Tensor& zero, CodeRange range) {
  x = at::round(x);
  if (zero.defined()) x = x.add(zero);
  return at::clamp(x, range.low, range.high);
}

std::pair<at::Tensor, at::Tensor> AroundZero(const at::Tensor& low,
                                             const at::Tensor& high) {
  const at::Tensor below = at::minimum(low, at::zeros_like(low));
  return {below, at::maximum(high, at::zeros_like(high))};
}

namespace {

using Values = std::vector<c10::IValue>;
using Ints = std::vector<std::int64_t>;

/// A tensor's shape with every blocked axis split into blocks and their
/// elements, the axes that a block spans, and the shape of one number each.
struct Blocks {
  Ints split;
  Ints spanned;
  Ints reduced;
};

Blocks BlocksOf(const Ints& block, at::IntArrayRef sizes) {
  if (block.size() != sizes.size()) {
    throw Corrupt("block_size has rank {}, the tensor has rank {}",
                  block.size(), sizes.size());
  }
  Blocks blocks;
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (block[i] <= 0 || (block[i] > 1 && sizes[i] % block[i] != 0)) {
      throw Corrupt("block_size {} does not divide {}", block[i], sizes[i]);
    }
    if (block[i] > 1 && block[i] != sizes[i]) {
      blocks.split.push_back(sizes[i] / block[i]);
      blocks.spanned.push_back(std::ssize(blocks.split));
      blocks.split.push_back(block[i]);
    } else {
      if (block[i] != 1) blocks.spanned.push_back(std::ssize(blocks.split));
      blocks.split.push_back(sizes[i]);
    }
  }
  blocks.reduced = blocks.split;
  for (const std::int64_t axis : blocks.spanned) {
    blocks.reduced[static_cast<std::size_t>(axis)] = 1;
  }
  return blocks;
}

/// The zero point of each block; undefined if there is none.
at::Tensor ZerosOf(const NamedArguments& given, const Blocks& blocks) {
  const at::Tensor zeros = given.OptionalTensor("zero_point");
  if (!zeros.defined() || zeros.numel() == 0) return {};
  return zeros.view(blocks.reduced);
}

/// The largest magnitude of each block over that of the codes, for the mapping
/// types SYMMETRIC and SYMMETRIC_NO_CLIPPING_ERR.
at::Tensor SymmetricScale(const NamedArguments& given, const at::Tensor& low,
                          const at::Tensor& high, CodeRange range) {
  if (given.Text("mapping_type") == "SYMMETRIC") {
    return at::maximum(low.neg(), high).div((range.high - range.low) / 2);
  }
  const at::Tensor from_low = low.div(range.low);
  const at::Tensor from_high = high.div(range.high);
  return at::where(from_low.gt(from_high), from_low, from_high);
}

}  // namespace

std::vector<c10::IValue> QuantizeAffine(const NamedArguments& given) {
  const at::Tensor input = given.Tensor("input");
  const Blocks blocks = BlocksOf(given.Ints("block_size"), input.sizes());
  const at::ScalarType type = given.Type("output_dtype");
  const at::Tensor scale = given.Tensor("scale").view(blocks.reduced);
  at::Tensor x = input.view(blocks.split).mul(Inverse(scale));
  x = Rounded(std::move(x), ZerosOf(given, blocks), RangeFor(given, type));
  return {x.view(input.sizes()).to(type)};
}

std::vector<c10::IValue> DequantizeAffine(const NamedArguments& given) {
  const at::Tensor input = given.Tensor("input");
  const Blocks blocks = BlocksOf(given.Ints("block_size"), input.sizes());
  const at::ScalarType type = given.Type("output_dtype", at::kFloat);
  const at::Tensor zeros = ZerosOf(given, blocks);
  at::Tensor x =
      input.view(blocks.split).to(type, /*non_blocking=*/false, /*copy=*/true);
  if (zeros.defined()) x = x.sub(zeros.to(type));
  x = x.mul(given.Tensor("scale").view(blocks.reduced));
  return {x.view(input.sizes()).to(type)};
}

std::vector<c10::IValue> ChooseAffine(const NamedArguments& given) {
  const at::Tensor input = given.Tensor("input");
  const Ints block = given.Ints("block_size");
  const Blocks blocks = BlocksOf(block, input.sizes());
  const CodeRange range = RangeFor(given, given.Type("target_dtype"));
  const bool keeps = given.Has("keepdim") && given.Number("keepdim") != 0;
  const at::Tensor x = input.view(blocks.split);
  const at::Tensor least = at::amin(x, blocks.spanned, keeps);
  const at::Tensor most = at::amax(x, blocks.spanned, keeps);
  const auto [low, high] = AroundZero(least, most);
  const double eps = given.Has("eps") ? given.Number("eps")
                                      : std::numeric_limits<float>::min();
  at::Tensor scale, zero;
  at::ScalarType zero_type = at::kInt;
  if (given.Text("mapping_type") == "ASYMMETRIC") {
    scale = high.sub(low).div(range.high - range.low).clamp_min(eps);
    zero = at::rsub(at::round(low.div(scale)), range.low);
    zero = at::clamp(zero, range.low, range.high);
  } else {
    scale = SymmetricScale(given, low, high, range);
    zero = at::full_like(scale, std::trunc((range.high + range.low + 1) / 2));
    zero_type = zero.scalar_type();
    scale = scale.clamp_min(eps);
  }
  if (keeps) {
    Ints sizes = input.sizes().vec();
    for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] /= block[i];
    scale = scale.reshape(sizes);
    zero = zero.reshape(sizes);
  }
  return {scale.to(given.Type("scale_dtype", input.scalar_type())),
          zero.to(given.Type("zero_point_dtype", zero_type))};
}

}  // namespace foretell::exported
