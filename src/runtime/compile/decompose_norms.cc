#include "src/runtime/compile/decompose_norms.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <utility>

#include "src/graph/attributes.h"

// Norms as sums along rows and what is done element by element, in f32 for
// operands of 16 bits (torch/_decomp/decompositions.py, PyTorch 2.13:
// native_layer_norm, native_group_norm, _native_batch_norm_legit,
// _softmax and their backward functions; _weight_norm_interface). Casts between
// the types are part of the kernels, so a result states its type and no cast is
// added.

namespace foretell::runtime {
namespace {

using Dims = std::vector<std::int64_t>;

DType InternalType(DType dtype) { return IsHalf(dtype) ? DType::kF32 : dtype; }

/// Emits primitives of one node.
class NormWriter {
 public:
  NormWriter(PrimitiveEmitter& emitter, const Node& node)
      : emitter_(emitter), node_(node) {}

  std::size_t Count() const { return node_.inputs.size(); }
  ValueId Input(std::size_t i) const { return emitter_.Now(node_.inputs[i]); }
  const Shape& ShapeOf(ValueId id) const { return emitter_.TypeOf(id).shape; }
  const Node& node() const { return node_; }
  PrimitiveEmitter& emitter() { return emitter_; }

  /// Element by element, of the first operand's shape.
  ValueId Pointwise(std::string_view target, std::vector<ValueId> inputs) {
    TensorType type = emitter_.TypeOf(inputs.front());
    type.dtype = InternalType(type.dtype);
    return emitter_.Emit(std::string(target), std::move(inputs),
                         std::move(type));
  }
  /// The sum, or another reduction, along `dims`, which are kept.
  ValueId Reduce(std::string_view target, ValueId of, const Dims& dims) {
    return emitter_.Emit(std::string(target), {of}, Reduced(of, dims),
                         {{"dim", dims}, {"keepdim", true}});
  }
  /// Variance and mean.
  std::vector<ValueId> Moments(ValueId of, const Dims& dims) {
    const TensorType type = Reduced(of, dims);
    return emitter_.EmitAll("var_mean", {of}, {type, type},
                            {{"dim", dims}, {"keepdim", true}});
  }
  /// The node's result `i`: `target` of `inputs`.
  void Result(std::size_t i, std::string_view target,
              std::vector<ValueId> inputs) {
    if (i >= node_.outputs.size()) return;
    const ValueId old = node_.outputs[i];
    emitter_.Set(old, emitter_.Emit(std::string(target), std::move(inputs),
                                    emitter_.graph().value(old).type));
  }

 private:
  TensorType Reduced(ValueId of, const Dims& dims) const {
    TensorType type = emitter_.TypeOf(of);
    type.dtype = InternalType(type.dtype);
    for (const std::int64_t dim : dims) {
      type.shape[static_cast<std::size_t>(dim)] = 1;
    }
    return type;
  }

  PrimitiveEmitter& emitter_;
  const Node& node_;
};

Dims LastDims(const Shape& shape, std::size_t count) {
  Dims dims(std::min(count, shape.size()));
  std::iota(dims.begin(), dims.end(),
            static_cast<std::int64_t>(shape.size() - dims.size()));
  return dims;
}

/// All dimensions but that of channels.
Dims ChannelDims(const Shape& shape) {
  Dims dims;
  for (std::int64_t i = 0; i < std::ssize(shape); ++i) {
    if (i != 1) dims.push_back(i);
  }
  return dims;
}

/// (x - mean) · rstd · weight + bias.
void Apply(NormWriter& writer, ValueId x, ValueId mean, ValueId rstd,
           std::size_t weight) {
  ValueId y = writer.Pointwise("sub", {x, mean});
  y = writer.Pointwise("mul", {y, rstd});
  const std::size_t factors =
      std::min(writer.Count(), weight + 2) - std::min(writer.Count(), weight);
  if (factors > 1) y = writer.Pointwise("mul", {y, writer.Input(weight)});
  if (factors > 0) {
    return writer.Result(0, factors > 1 ? "add" : "mul",
                         {y, writer.Input(weight + factors - 1)});
  }
  writer.Result(0, "to", {y});
}

/// `made` is `result`, in another shape.
void Keep(NormWriter& writer, ValueId result, ValueId made) {
  PrimitiveEmitter& emitter = writer.emitter();
  const TensorType& type = emitter.graph().value(result).type;
  emitter.Set(result,
              emitter.TypeOf(made) == type ? made : emitter.View(made, type));
}

/// What the backward operator reads: mean and rstd.
void KeepMoments(NormWriter& writer, ValueId mean, ValueId rstd) {
  const std::vector<ValueId>& results = writer.node().outputs;
  Keep(writer, results[results.size() - 2], mean);
  Keep(writer, results.back(), rstd);
}

/// The same, before them the operand where the kernel needed a copy of it.
void KeepForBackward(NormWriter& writer, ValueId x, ValueId mean,
                     ValueId rstd) {
  const std::vector<ValueId>& results = writer.node().outputs;
  if (results.size() < 3) return;
  if (results.size() > 3) Keep(writer, results[1], x);
  KeepMoments(writer, mean, rstd);
}

void LayerNorm(NormWriter& writer) {
  const ValueId x = writer.Input(0);
  const Shape shape = writer.ShapeOf(x);
  const std::size_t count = std::max<std::size_t>(
      1, writer.node().Ints("normalized_shape", {}).size());
  const std::vector<ValueId> moments =
      writer.Moments(x, LastDims(shape, count));
  const ValueId rstd = writer.Pointwise("rsqrt", {moments[0]});
  Apply(writer, x, moments[1], rstd, 1);
  KeepForBackward(writer, x, moments[1], rstd);
}

void RmsNorm(NormWriter& writer) {
  const ValueId x = writer.Input(0);
  const std::size_t count = std::max<std::size_t>(
      1, writer.node().Ints("normalized_shape", {}).size());
  const ValueId mean = writer.Reduce("mean", writer.Pointwise("pow", {x}),
                                     LastDims(writer.ShapeOf(x), count));
  const ValueId rstd = writer.Pointwise("rsqrt", {mean});
  const ValueId y = writer.Pointwise("mul", {x, rstd});
  if (writer.node().outputs.size() > 1) {
    writer.emitter().Set(writer.node().outputs[1], rstd);
  }
  if (writer.Count() > 1) return writer.Result(0, "mul", {y, writer.Input(1)});
  writer.Result(0, "to", {y});
}

/// Rows are the groups of an image's channels.
void GroupNorm(NormWriter& writer) {
  const ValueId x = writer.Input(0);
  const Shape shape = writer.ShapeOf(x);
  if (shape.size() < 2) return writer.Result(0, "group_norm", {x});
  const std::int64_t groups = writer.node().Int("num_groups", shape[1]);
  TensorType type = writer.emitter().TypeOf(x);
  type.shape = {
      shape[0], groups,
      type.NumElements() / std::max<std::int64_t>(1, shape[0] * groups)};
  PrimitiveEmitter& emitter = writer.emitter();
  const std::vector<ValueId> moments =
      writer.Moments(emitter.View(x, type), {2});
  const ValueId rstd = writer.Pointwise("rsqrt", {moments[0]});
  Apply(writer, x, moments[1], rstd, 1);
  KeepForBackward(writer, x, moments[1], rstd);
}

/// input, weight, bias, running_mean, running_var.
void BatchNorm(NormWriter& writer) {
  constexpr std::size_t kMean = 3, kVariance = 4;
  const ValueId x = writer.Input(0);
  const Shape shape = writer.ShapeOf(x);
  const bool trains = FlagOf(writer.node(), "training");
  if (!trains && writer.Count() > kVariance) {
    const ValueId rstd = writer.Pointwise("rsqrt", {writer.Input(kVariance)});
    return Apply(writer, x, writer.Input(kMean), rstd, 1);
  }
  const std::vector<ValueId> moments = writer.Moments(x, ChannelDims(shape));
  const ValueId rstd = writer.Pointwise("rsqrt", {moments[0]});
  Apply(writer, x, moments[1], rstd, 1);
  KeepForBackward(writer, x, moments[1], rstd);
  for (std::size_t i = kMean; i < std::min(writer.Count(), kVariance + 1);
       ++i) {
    writer.emitter().EmitInto(writer.Input(i), "lerp_",
                              {writer.Input(i), moments[kVariance - i]});
  }
}

/// Of the rows of each channel: a batch norm of as many channels as there are
/// rows (instance_norm of aten/src/ATen/native/Normalization.cpp). Its backward
/// operator also reads weights and running statistics, repeated for each image.
void InstanceNorm(NormWriter& writer) {
  const ValueId x = writer.Input(0);
  const Shape shape = writer.ShapeOf(x);
  if (shape.size() < 3 || !FlagOf(writer.node(), "use_input_stats", true)) {
    return BatchNorm(writer);
  }
  const std::vector<ValueId> moments =
      writer.Moments(x, LastDims(shape, shape.size() - 2));
  const ValueId rstd = writer.Pointwise("rsqrt", {moments[0]});
  Apply(writer, x, moments[1], rstd, 1);
  const std::size_t count = writer.node().outputs.size();
  if (count < 3) return;
  for (std::size_t i = 1; i + 2 < count; ++i) {
    const std::size_t repeated = std::min(i, writer.Count() - 1);
    writer.Result(i, "repeat", {writer.Input(repeated)});
  }
  KeepMoments(writer, moments[1], rstd);
}

/// e^(x - max) / sum, or x - max - log(sum).
void Softmax(NormWriter& writer) {
  const ValueId x = writer.Input(0);
  const Shape shape = writer.ShapeOf(x);
  const auto dim = DimOf(writer.node(), "dim", shape.size(), -1);
  if (!dim) return writer.Result(0, "exp", {x});
  const Dims dims = {static_cast<std::int64_t>(*dim)};
  const ValueId most = writer.Reduce("amax", x, dims);
  const ValueId shifted = writer.Pointwise("sub", {x, most});
  const ValueId power = writer.Pointwise("exp", {shifted});
  const ValueId sum = writer.Reduce("sum", power, dims);
  if (writer.node().target.find("log") == std::string::npos) {
    return writer.Result(0, "div", {power, sum});
  }
  writer.Result(0, "sub", {shifted, writer.Pointwise("log", {sum})});
}

/// grad, output.
void SoftmaxBackward(NormWriter& writer) {
  const ValueId gradient = writer.Input(0);
  const Shape shape = writer.ShapeOf(gradient);
  const auto dim = DimOf(writer.node(), "dim", shape.size(), -1);
  if (!dim) return writer.Result(0, "mul", {gradient, writer.Input(1)});
  const Dims dims = {static_cast<std::int64_t>(*dim)};
  const bool is_log = writer.node().target.find("log") != std::string::npos;
  const ValueId product =
      is_log ? gradient : writer.Pointwise("mul", {gradient, writer.Input(1)});
  const ValueId sum = writer.Reduce("sum", product, dims);
  const ValueId share = writer.Pointwise("mul", {writer.Input(1), sum});
  writer.Result(0, "sub", {product, share});
}

/// Sums of the gradient, and of its product with the normalised input, along
/// `rows`, then the gradient of the input; along `columns` those of weight and
/// bias. `first` is the place of the mean among the inputs.
void NormBackward(NormWriter& writer, const Dims& rows, const Dims& columns,
                  std::size_t mean, std::size_t weight) {
  const ValueId gradient = writer.Input(0);
  const ValueId x = writer.Input(1);
  ValueId normal = writer.Pointwise("sub", {x, writer.Input(mean)});
  normal = writer.Pointwise("mul", {normal, writer.Input(mean + 1)});
  ValueId scaled = gradient;
  if (weight < writer.Count() && rows != columns) {
    scaled = writer.Pointwise("mul", {gradient, writer.Input(weight)});
  }
  const ValueId sum = writer.Reduce("sum", scaled, rows);
  const ValueId product = writer.Pointwise("mul", {scaled, normal});
  const ValueId dot = writer.Reduce("sum", product, rows);
  const ValueId share = writer.Pointwise("mul", {normal, dot});
  const ValueId centred = writer.Pointwise("sub", {scaled, sum});
  writer.Result(0, "sub", {centred, share, writer.Input(mean + 1)});
  if (rows == columns) {
    writer.Result(1, "mul", {dot, writer.Input(mean + 1)});
    return writer.Result(2, "to", {sum});
  }
  if (writer.node().outputs.size() > 1) {
    const ValueId weights = writer.Reduce(
        "sum", writer.Pointwise("mul", {gradient, normal}), columns);
    writer.Result(1, "view", {weights});
  }
  if (writer.node().outputs.size() > 2) {
    writer.Result(2, "view", {writer.Reduce("sum", gradient, columns)});
  }
}

/// grad, input, mean, rstd, weight, bias.
void LayerNormBackward(NormWriter& writer) {
  constexpr std::size_t kMean = 2, kWeight = 4;
  const Shape shape = writer.ShapeOf(writer.Input(1));
  const std::size_t count = std::max<std::size_t>(
      1, writer.node().Ints("normalized_shape", {}).size());
  Dims columns(shape.size() - std::min(count, shape.size()));
  std::iota(columns.begin(), columns.end(), 0);
  NormBackward(writer, LastDims(shape, count), columns, kMean, kWeight);
}

/// grad, input, weight, running_mean, running_var, save_mean, save_invstd;
/// weight and running statistics may be missing.
void BatchNormBackward(NormWriter& writer) {
  const Dims dims = ChannelDims(writer.ShapeOf(writer.Input(1)));
  NormBackward(writer, dims, dims, writer.Count() - 2, 2);
}

/// grad, input, mean, rstd, weight. Sums along the rows of each channel are
/// added up along the channels of each group.
void GroupNormBackward(NormWriter& writer) {
  constexpr std::size_t kMean = 2, kWeight = 4;
  PrimitiveEmitter& emitter = writer.emitter();
  const ValueId gradient = writer.Input(0), x = writer.Input(1);
  const ValueId mean = writer.Input(kMean), rstd = writer.Input(kMean + 1);
  const Shape shape = writer.ShapeOf(x);
  const std::int64_t groups = writer.node().Int("group", 1);
  const bool has_weight = writer.Count() > kWeight;
  const auto along_rows = [&](ValueId of) {
    const ValueId sum =
        writer.Reduce("sum", of, LastDims(shape, shape.size() - 2));
    return emitter.View(sum, {emitter.TypeOf(sum).dtype,
                              {shape[0], groups, shape[1] / groups}});
  };
  const ValueId dot = along_rows(writer.Pointwise("mul", {gradient, x}));
  const ValueId sum = along_rows(gradient);
  const auto along_channels = [&](ValueId of) {
    if (has_weight) of = writer.Pointwise("mul", {of, writer.Input(kWeight)});
    return writer.Reduce("sum", of, {2});
  };
  const ValueId group_dot = along_channels(dot);
  const ValueId group_sum = along_channels(sum);
  const ValueId share =
      writer.Pointwise("mul", {group_sum, mean, group_dot, rstd});
  const ValueId offset =
      writer.Pointwise("sub", {share, mean, group_sum, rstd});
  const ValueId scaled = writer.Pointwise(
      "mul", has_weight
                 ? std::vector<ValueId>{gradient, rstd, writer.Input(kWeight)}
                 : std::vector<ValueId>{gradient, rstd});
  writer.Result(0, "add",
                {scaled, writer.Pointwise("mul", {x, share}), offset});
  if (writer.node().outputs.size() < 3) return;
  const ValueId each = writer.Pointwise("mul", {dot, sum, mean, rstd});
  writer.Result(1, "view", {writer.Reduce("sum", each, {0})});
  writer.Result(2, "view", {writer.Reduce("sum", sum, {0})});
}

/// v · (g / norm of v). Its backward function has no decomposition.
void WeightNorm(NormWriter& writer) {
  const ValueId v = writer.Input(0);
  const std::size_t rank = writer.ShapeOf(v).size();
  const auto kept = DimOf(writer.node(), "dim", rank, 0);
  Dims dims;
  for (std::size_t i = 0; i < rank; ++i) {
    if (i != kept) dims.push_back(static_cast<std::int64_t>(i));
  }
  const ValueId norm = writer.Reduce("norm", v, dims);
  const ValueId factor = writer.Pointwise("div", {writer.Input(1), norm});
  writer.Result(0, "mul", {v, factor});
  if (writer.node().outputs.size() > 1) {
    writer.emitter().Set(writer.node().outputs[1], norm);
  }
}

struct NormRule {
  std::string_view target;
  std::size_t least_inputs;
  void (*write)(NormWriter&);
};

constexpr auto kNormRules = std::to_array<NormRule>({
    {"layer_norm", 1, &LayerNorm},
    {"native_layer_norm", 1, &LayerNorm},
    {"rms_norm", 1, &RmsNorm},
    {"_fused_rms_norm", 1, &RmsNorm},
    {"group_norm", 1, &GroupNorm},
    {"batch_norm", 3, &BatchNorm},
    {"instance_norm", 1, &InstanceNorm},
    {"_weight_norm", 2, &WeightNorm},
    {"_weight_norm_interface", 2, &WeightNorm},
    {"softmax", 1, &Softmax},
    {"_softmax", 1, &Softmax},
    {"log_softmax", 1, &Softmax},
    {"_log_softmax", 1, &Softmax},
    {"_softmax_backward_data", 2, &SoftmaxBackward},
    {"_log_softmax_backward_data", 2, &SoftmaxBackward},
    {"native_layer_norm_backward", 4, &LayerNormBackward},
    {"native_group_norm_backward", 4, &GroupNormBackward},
    {"native_batch_norm_backward", 4, &BatchNormBackward},
});

}  // namespace

bool DecomposeNorm(PrimitiveEmitter& emitter, const Node& node) {
  const auto* const rule =
      std::ranges::find(kNormRules, node.target, &NormRule::target);
  if (rule == kNormRules.end() || node.inputs.size() < rule->least_inputs ||
      node.outputs.empty()) {
    return false;
  }
  NormWriter writer(emitter, node);
  rule->write(writer);
  return true;
}

}  // namespace foretell::runtime
