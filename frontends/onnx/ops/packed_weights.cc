#include "frontends/onnx/ops/packed_weights.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <fmt/core.h>

#include <optional>
#include <vector>

#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/type_support.h"
#include "src/core/checked.h"
#include "src/program/private_operator.h"

namespace foretell::onnx {
namespace {

constexpr std::int64_t kByteBits = 8;

std::int64_t BitsAttribute(const NodeContext& ctx) {
  const std::int64_t bits = ctx.IntAttribute("bits", 4);
  if (bits != 2 && bits != 4 && bits != kByteBits) {
    FailAttribute(ctx, "bits", fmt::format("{}", bits));
  }
  return bits;
}

/// Elements that share a scale.
std::int64_t BlockAttribute(const NodeContext& ctx) {
  constexpr std::int64_t kDefault = 128, kMost = std::int64_t{1} << 30;
  const std::int64_t block = ctx.IntAttribute("block_size", kDefault);
  ctx.Check(block >= kByteBits && block <= kMost && block % kByteBits == 0,
            "block_size {} is not a multiple of 8", block);
  return block;
}

/// The numbers of `bits` bits in `bytes`, lowest bits first, along its last
/// axis.
at::Tensor CodesOf(const at::Tensor& bytes, std::int64_t bits) {
  if (bits == kByteBits) return bytes;
  std::vector<at::Tensor> parts;
  for (std::int64_t shift = 0; shift < kByteBits; shift += bits) {
    parts.push_back(at::bitwise_and(at::bitwise_right_shift(bytes, shift),
                                    (std::int64_t{1} << bits) - 1));
  }
  return at::stack(parts, -1).flatten(-2);
}

/// The code that stands for 0 if the file has no zero points.
double MiddleCode(std::int64_t bits) {
  return static_cast<double>(std::int64_t{1} << (bits - 1));
}

// ---- MatMulNBits -----------------------------------------------------------

/// A matrix [rows, columns] in blocks of each row.
struct NBitsMatrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t bits = 0;
  std::int64_t block = 0;
  PackedWeight packed;
  at::Tensor groups;  ///< Block of each column, if not in order.

  std::int64_t blocks() const { return CeilDiv(columns, block); }
};

NBitsMatrix ReadNBitsMatrix(NodeContext& ctx) {
  NBitsMatrix m{.rows = ctx.RequireAttribute("N", Attribute::Kind::kInt).i,
                .columns = ctx.RequireAttribute("K", Attribute::Kind::kInt).i,
                .bits = BitsAttribute(ctx),
                .block = BlockAttribute(ctx),
                .packed = {ctx.Tensor(1), ctx.Tensor(2), ctx.OptionalTensor(3)},
                .groups = ctx.OptionalTensor(4)};
  const std::int64_t each = kByteBits / m.bits;
  const at::Tensor& bytes = m.packed.codes;
  const bool fits = m.columns > 0 && m.columns <= bytes.numel() * each &&
                    bytes.dim() > 0 && bytes.size(0) == m.rows &&
                    bytes.numel() / m.rows == m.blocks() * (m.block / each);
  ctx.Check(
      fits && m.packed.scales.numel() == m.rows * m.blocks(),
      "B and scales do not hold {} x {} numbers of {} bits in blocks of {}",
      m.rows, m.columns, m.bits, m.block);
  return m;
}

/// Zero points [rows, blocks] in `type`, packed or not in the file.
at::Tensor ZerosOf(const NBitsMatrix& m, at::ScalarType type) {
  const at::Tensor zeros = m.packed.zeros.reshape({m.rows, -1});
  if (zeros.scalar_type() != at::kByte) return CastTo(zeros, type);
  return CastTo(CodesOf(zeros, m.bits).slice(1, 0, m.blocks()), type);
}

/// The numbers that the codes stand for.
at::Tensor NumbersOf(const NBitsMatrix& m, at::ScalarType type) {
  const at::Tensor codes = CodesOf(m.packed.codes.reshape({m.rows, -1}), m.bits)
                               .slice(1, 0, m.columns);
  const at::Tensor group =
      m.groups.defined()
          ? CastTo(m.groups, at::kLong)
          : at::arange(m.columns, codes.options().dtype(at::kLong))
                .floor_divide(m.block);
  const auto by_column = [&](const at::Tensor& by_block) {
    return at::index_select(by_block, 1, group);
  };
  at::Tensor x = CastTo(codes, type);
  x = m.packed.zeros.defined() ? x.sub(by_column(ZerosOf(m, type)))
                               : x.sub(MiddleCode(m.bits));
  return x.mul(
      by_column(CastTo(m.packed.scales.reshape({m.rows, m.blocks()}), type)));
}

}  // namespace

at::Tensor UnpackedWeight(const PackedWeight& weight, at::IntArrayRef shape,
                          at::ScalarType type,
                          const std::function<at::Tensor()>& exact) {
  const c10::NoGradGuard no_grad;
  if (!weight.codes.is_meta()) {
    return WithValues(at::empty(shape, weight.codes.options().dtype(type)),
                      exact);
  }
  std::optional<at::Tensor> zeros;
  if (weight.zeros.defined()) zeros = weight.zeros;
  return CallPrivate("awq::dequantize", weight.codes, weight.scales, zeros,
                     shape.vec(), type);
}

void LowerMatMulNBits(NodeContext& ctx) {
  const std::int64_t prepacked = ctx.IntAttribute("weight_prepacked", 0);
  if (prepacked != 0) {
    FailAttribute(ctx, "weight_prepacked", fmt::format("{}", prepacked));
  }
  const at::Tensor x = ctx.Tensor(0);
  const NBitsMatrix m = ReadNBitsMatrix(ctx);
  const at::Tensor weight =
      UnpackedWeight(m.packed, {m.rows, m.columns}, x.scalar_type(),
                     [&] { return NumbersOf(m, x.scalar_type()); });
  ctx.Set(0, at::linear(x, weight, ctx.OptionalTensor(5)));
}

// ---- GatherBlockQuantized --------------------------------------------------

namespace {

/// Chosen rows of a table whose axis `blocked` is in blocks.
struct ChosenRows {
  PackedWeight packed;
  std::int64_t bits = kByteBits;  ///< 8 unless bytes hold several numbers.
  bool is_packed = false;         ///< Bytes, whose middle code is 0.
  std::int64_t block = 0;
  std::int64_t blocked = 0;
};

/// The numbers that the codes stand for, in a tensor of `shape`.
at::Tensor NumbersOf(const ChosenRows& rows, at::IntArrayRef shape) {
  const std::int64_t extent = shape[static_cast<std::size_t>(rows.blocked)];
  const auto by_element = [&](const at::Tensor& by_block) {
    return by_block.repeat_interleave(rows.block, rows.blocked)
        .slice(rows.blocked, 0, extent);
  };
  const at::Tensor& scales = rows.packed.scales;
  at::Tensor x =
      CastTo(CodesOf(rows.packed.codes, rows.bits), scales.scalar_type());
  if (rows.packed.zeros.defined()) {
    x = x.sub(by_element(
        CastTo(CodesOf(rows.packed.zeros, rows.bits), scales.scalar_type())));
  } else if (rows.is_packed) {
    x = x.sub(MiddleCode(rows.bits));
  }
  return x.mul(by_element(scales));
}

}  // namespace

void LowerGatherBlockQuantized(NodeContext& ctx) {
  const at::Tensor data = ctx.Tensor(0);
  const std::int64_t axis =
      NormalizeAxis(ctx, ctx.IntAttribute("gather_axis", 0), data.dim());
  const at::Tensor positions = CastTo(ctx.Tensor(1), at::kLong);
  const at::Tensor flat = positions.reshape({-1});
  const auto chosen = [&](const at::Tensor& all) {
    return all.defined() ? at::index_select(Computable(all), axis, flat) : all;
  };
  ChosenRows rows{.packed = {chosen(data), chosen(ctx.Tensor(2)),
                             chosen(ctx.OptionalTensor(3))},
                  .is_packed = data.scalar_type() == at::kByte,
                  .block = BlockAttribute(ctx)};
  if (rows.is_packed) rows.bits = BitsAttribute(ctx);
  rows.blocked =
      NormalizeAxis(ctx, ctx.IntAttribute("quantize_axis", 1), data.dim());
  std::vector<std::int64_t> shape = rows.packed.codes.sizes().vec();
  shape.back() *= kByteBits / rows.bits;
  const at::Tensor y =
      UnpackedWeight(rows.packed, shape, rows.packed.scales.scalar_type(),
                     [&] { return NumbersOf(rows, shape); });
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, positions.sizes().begin(),
               positions.sizes().end());
  ctx.Set(0, y.view(shape));
}

}  // namespace foretell::onnx
