#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "frontends/onnx/node_context.h"
#include "frontends/onnx/operator_table.h"
#include "frontends/onnx/ops/cast.h"
#include "frontends/onnx/ops/helpers.h"
#include "frontends/onnx/ops/lowerings.h"
#include "src/core/numbers.h"

namespace foretell::onnx {
namespace {

using Ints = std::vector<std::int64_t>;

std::string ShapeText(at::IntArrayRef shape) {
  return fmt::format("[{}]", fmt::join(shape, ","));
}

// ---- Reshape ---------------------------------------------------------------

/// Fails when `x` cannot be reshaped to `shape`, most often because a file made
/// for one batch has that batch in its constants.
void CheckReshape(const NodeContext& ctx, const at::Tensor& x,
                  const Ints& shape) {
  std::int64_t known = 1;
  const auto open = std::count(shape.begin(), shape.end(), -1);
  for (const std::int64_t size : shape) {
    ctx.Check(size >= -1, "shape holds {}", size);
    if (size >= 0 && __builtin_mul_overflow(known, size, &known)) {
      ctx.Fail(ErrorCode::kCorrupt, "shape {} has more than 2^63 elements",
               ShapeText(shape));
    }
  }
  ctx.Check(open <= 1, "shape {} holds -1 twice", ShapeText(shape));
  const bool fits = open == 0    ? known == x.numel()
                    : known == 0 ? false
                                 : x.numel() % known == 0;
  if (!fits) {
    ctx.Fail(ErrorCode::kInvalidArgument,
             "a tensor of shape {} cannot be reshaped to {}, which the file "
             "states; does the file fix another batch or size than requested?",
             ShapeText(x.sizes()), ShapeText(shape));
  }
}

void LowerReshape(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  Ints shape = ctx.opset() < 5 && !ctx.Has(1) ? ctx.IntsAttribute("shape", {})
                                              : ctx.Ints(1);
  const bool zero_copies = ctx.IntAttribute("allowzero", 0) == 0;
  for (size_t i = 0; i < shape.size() && zero_copies; ++i) {
    if (shape[i] != 0) continue;
    ctx.Check(static_cast<std::int64_t>(i) < x.dim(),
              "shape copies axis {} of a tensor of rank {}", i, x.dim());
    shape[i] = x.size(static_cast<std::int64_t>(i));
  }
  CheckReshape(ctx, x, shape);
  ctx.Set(0, at::reshape(x, shape));
}

void LowerFlatten(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  std::int64_t axis = ctx.IntAttribute("axis", 1);
  if (axis != x.dim()) axis = NormalizeAxis(ctx, axis, x.dim());
  if (axis == 1 && x.dim() >= 2) {
    ctx.Set(0, at::flatten(x, 1));
    return;
  }
  const auto sizes = x.sizes();
  const auto split = static_cast<size_t>(std::min(axis, x.dim()));
  ctx.Set(0, at::reshape(x, {Product(sizes.slice(0, split)),
                             Product(sizes.slice(split))}));
}

// ---- Axes ------------------------------------------------------------------

void LowerTranspose(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  Ints reversed = Iota(x.dim());
  std::reverse(reversed.begin(), reversed.end());
  const Ints order = NormalizeAxes(
      ctx, ctx.IntsAttribute("perm", std::move(reversed)), x.dim());
  ctx.Check(static_cast<std::int64_t>(order.size()) == x.dim(),
            "perm has {}, expected {}", Counted(order.size(), "element"),
            x.dim());
  ctx.Set(0, x.permute(order));
}

void LowerSqueeze(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const auto given = IntsInputOrAttribute(ctx, 1, "axes");
  if (!given) {
    ctx.Set(0, x.squeeze());
    return;
  }
  const Ints axes = NormalizeAxes(ctx, *given, x.dim());
  for (const std::int64_t axis : axes) {
    if (x.dim() > 0 && x.size(axis) != 1) {
      ctx.Fail(ErrorCode::kInvalidArgument,
               "axis {} of {} is not 1 and cannot be removed", axis,
               ShapeText(x.sizes()));
    }
  }
  ctx.Set(0, axes.size() == 1 ? x.squeeze(axes[0]) : x.squeeze(axes));
}

void LowerUnsqueeze(NodeContext& ctx) {
  at::Tensor x = ctx.Tensor(0);
  const auto given = IntsInputOrAttribute(ctx, 1, "axes");
  ctx.Check(given.has_value(), "axes is missing");
  Ints axes = NormalizeAxes(ctx, *given,
                            x.dim() + static_cast<std::int64_t>(given->size()));
  std::sort(axes.begin(), axes.end());
  for (const std::int64_t axis : axes) x = x.unsqueeze(axis);
  ctx.Set(0, x);
}

// ---- Concatenation and repetition ------------------------------------------

void LowerConcat(NodeContext& ctx) {
  std::vector<at::Tensor> parts;
  for (size_t i = 0; i < ctx.num_inputs(); ++i) parts.push_back(ctx.Tensor(i));
  ctx.Check(!parts.empty(), "no input");
  if (ctx.opset() >= 4) ctx.RequireAttribute("axis", Attribute::Kind::kInt);
  const std::int64_t axis = AxisAttribute(ctx, 1, parts[0].dim());
  for (const at::Tensor& part : parts) {
    if (part.dim() != parts[0].dim()) {
      ctx.Fail(ErrorCode::kCorrupt, "inputs have the shapes {} and {}",
               ShapeText(parts[0].sizes()), ShapeText(part.sizes()));
    }
  }
  ctx.Set(0, at::cat(parts, axis));
}

/// `shape` broadcast with that of `x`: a size of 1 keeps x's.
Ints ExpandedShape(const NodeContext& ctx, const at::Tensor& x, Ints shape) {
  const auto rank = static_cast<size_t>(x.dim());
  if (shape.size() < rank) {
    shape.insert(shape.begin(), rank - shape.size(), 1);
  }
  const size_t lead = shape.size() - rank;
  for (size_t i = 0; i < rank; ++i) {
    const std::int64_t size = x.size(static_cast<std::int64_t>(i));
    std::int64_t& wanted = shape[lead + i];
    if (wanted == 1) wanted = size;
    if (size != 1 && wanted != size) {
      ctx.Fail(ErrorCode::kInvalidArgument,
               "a tensor of shape {} cannot be expanded to {}",
               ShapeText(x.sizes()), ShapeText(shape));
    }
  }
  return shape;
}

void LowerExpand(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  const Ints shape = ExpandedShape(ctx, x, ctx.Ints(1));
  ctx.Set(0, at::IntArrayRef(shape) == x.sizes() ? x : x.expand(shape));
}

void LowerTile(NodeContext& ctx) {
  const at::Tensor x = ctx.Tensor(0);
  Ints repeats(static_cast<size_t>(x.dim()), 1);
  if (ctx.opset() < 6) {
    const std::int64_t axis = NormalizeAxis(ctx, ctx.Int(2), x.dim());
    repeats[static_cast<size_t>(axis)] = ctx.Int(1);
  } else {
    repeats = ctx.Ints(1);
  }
  if (static_cast<std::int64_t>(repeats.size()) != x.dim()) {
    ctx.Fail(ErrorCode::kCorrupt, "repeats has {}, expected {}",
             Counted(repeats.size(), "element"), x.dim());
  }
  ctx.Set(0, x.repeat(repeats));
}

// ---- Questions about the shape ---------------------------------------------

void LowerShape(NodeContext& ctx) {
  const auto* x = std::get_if<at::Tensor>(&ctx.Raw(0));
  ctx.Check(x != nullptr, "input is not a tensor");
  const std::int64_t rank = x->dim();
  const auto position = [&](std::string_view name, std::int64_t fallback) {
    const std::int64_t value = ctx.IntAttribute(name, fallback);
    return std::clamp<std::int64_t>(value < 0 ? value + rank : value, 0, rank);
  };
  const std::int64_t start = position("start", 0);
  const std::int64_t end = std::max(position("end", rank), start);
  ctx.Set(0, at::tensor(x->sizes().slice(static_cast<size_t>(start),
                                         static_cast<size_t>(end - start)),
                        at::TensorOptions().dtype(at::kLong)));
}

void LowerSize(NodeContext& ctx) {
  const auto* x = std::get_if<at::Tensor>(&ctx.Raw(0));
  ctx.Check(x != nullptr, "input is not a tensor");
  ctx.Set(0,
          at::scalar_tensor(x->numel(), at::TensorOptions().dtype(at::kLong)));
}

// ---- Identity and dropout --------------------------------------------------

void LowerIdentity(NodeContext& ctx) { ctx.Set(0, ctx.Raw(0)); }

/// Since version 12, files made for training have an input for this. Older
/// versions leave it to the runtime.
bool DropsOut(NodeContext& ctx) {
  if (ctx.opset() < 7 && ctx.IntAttribute("is_test", 0) != 0) return false;
  if (ctx.Has(2)) return ctx.Int(2) != 0;
  return ctx.IsTraining();
}

void LowerDropout(NodeContext& ctx) {
  constexpr double kDefaultRatio = 0.5;
  const at::Tensor x = ctx.Tensor(0);
  const double ratio = ctx.opset() >= 12
                           ? (ctx.Has(1) ? ctx.Double(1) : kDefaultRatio)
                           : ctx.FloatAttribute("ratio", kDefaultRatio);
  // Without randomness every element is kept. Early masks were of x's type.
  if (!DropsOut(ctx) || ratio == 0) {
    ctx.Set(0, x);
    if (!ctx.Wants(1)) return;
    const auto type = ctx.opset() < 10 ? x.scalar_type() : at::kBool;
    ctx.Set(1, at::ones(x.sizes(), x.options().dtype(type)));
    return;
  }
  if (!ctx.Wants(1)) {
    ctx.Set(0, at::dropout(x, ratio, /*train=*/true));
    return;
  }
  auto [y, mask] = at::native_dropout(x, ratio, /*train=*/true);
  ctx.Set(0, y);
  ctx.Set(1, mask);
}

constexpr OnnxOperator kShapeOperators[] = {
    {"BitCast", {26, kAny}, &LowerBitCast},
    {"Cast", {6, kAny}, &LowerCast},  // 1 named the type in a string
    {"CastLike", {15, kAny}, &LowerCastLike},
    {"Concat", {1, kAny}, &LowerConcat},
    {"Dropout", {1, kAny}, &LowerDropout},
    {"Expand", {8, kAny}, &LowerExpand},
    {"Flatten", {1, kAny}, &LowerFlatten},
    {"Identity", {1, kAny}, &LowerIdentity},
    {"Pad", {1, kAny}, &LowerPad},
    {"Reshape", {1, kAny}, &LowerReshape},
    {"Shape", {1, kAny}, &LowerShape},
    {"Size", {1, kAny}, &LowerSize},
    {"Slice", {1, kAny}, &LowerSlice},
    {"Split", {1, kAny}, &LowerSplit},
    {"Squeeze", {1, kAny}, &LowerSqueeze},
    {"Tile", {1, kAny}, &LowerTile},
    {"Transpose", {1, kAny}, &LowerTranspose},
    {"Unsqueeze", {1, kAny}, &LowerUnsqueeze},
};

}  // namespace

std::span<const OnnxOperator> ShapeOperators() { return kShapeOperators; }

}  // namespace foretell::onnx
