#include "src/program/adapted_layer.h"

#include <ATen/ops/add.h>
#include <ATen/ops/conv1d.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/conv3d.h>
#include <ATen/ops/div.h>
#include <ATen/ops/dropout.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/eye.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/mul.h>
#include <ATen/ops/slice.h>
#include <ATen/ops/sub.h>
#include <fmt/core.h>

#include <string>
#include <utility>
#include <vector>

#include "foretell/error.h"
#include "src/program/delta_adapter.h"
#include "src/program/quantized_weights.h"
#include "src/program/rotation_adapter.h"
#include "src/program/weighted_operators.h"

namespace foretell {
namespace {

/// lora_alpha / r; any factor other than 1 costs the same.
constexpr double kScaling = 2.0;
/// Number of the bias among the arguments of `linear` and of convolutions.
constexpr std::size_t kBiasArgument = 2;

[[noreturn]] void RefuseAdapter(const AdaptedCall& call, const char* why) {
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("{} of '{}' gets no adapter: {}",
                          call.op.schema().name(), call.adapter.name, why));
}

const c10::IValue* ArgumentNamed(const AdaptedCall& call,
                                 const std::string& name) {
  const auto place = call.op.schema().argumentIndexWithName(name);
  return place ? &call.arguments[static_cast<std::size_t>(*place)] : nullptr;
}

/// The layer's own call with other tensors in place of its own and no bias.
at::Tensor CallWith(AdaptedCall call, const at::Tensor& input,
                    const at::Tensor& weight) {
  call.arguments[call.layer.input] = input;
  call.arguments[call.layer.weight] = weight;
  if (call.layer.kind == WeightUse::kConvolution) {
    call.arguments[kBiasArgument] = c10::IValue();
  }
  call.op.callBoxed(&call.arguments);
  return call.arguments.back().toTensor();
}

/// A convolution of kernel 1.
at::Tensor ConvolvePoints(const at::Tensor& input, const at::Tensor& weight) {
  switch (weight.dim()) {
    case 3:
      return at::conv1d(input, weight);
    case 4:
      return at::conv2d(input, weight);
    default:
      return at::conv3d(input, weight);
  }
}

/// Whether the input has the extent n of the weight [m, n], see LayerAdapter.
bool MeetsNarrow(const AdaptedCall& call) {
  const at::Tensor& weight = call.arguments[call.layer.weight].toTensor();
  const bool as_it_lies = weight.strides() == call.adapter.weight.strides() &&
                          weight.sizes() == call.adapter.weight.sizes();
  return as_it_lies == call.layer.transposes;
}

at::Tensor Lowered(const AdaptedCall& call, const at::Tensor& input) {
  if (call.layer.kind == WeightUse::kConvolution) {
    return CallWith(call, input, call.adapter.narrow);
  }
  if (call.layer.kind == WeightUse::kEmbedding) {
    return CallWith(call, input, call.adapter.wide);
  }
  return MeetsNarrow(call) ? at::linear(input, call.adapter.narrow)
                           : at::matmul(input, call.adapter.wide);
}

at::Tensor Raised(const AdaptedCall& call, const at::Tensor& low) {
  if (call.layer.kind == WeightUse::kConvolution) {
    return ConvolvePoints(low, call.adapter.wide);
  }
  return MeetsNarrow(call) ? at::linear(low, call.adapter.wide)
                           : at::matmul(low, call.adapter.narrow);
}

/// B(Ax): the product with A dies once its product with B is made.
at::Tensor LowRank(const AdaptedCall& call, const at::Tensor& input) {
  const at::Tensor low = Lowered(call, input);
  return Raised(call, low);
}

at::Tensor Dropped(const LoraSpec& spec, const at::Tensor& input) {
  return spec.dropout > 0 ? at::dropout(input, spec.dropout, /*train=*/true)
                          : input;
}

at::Tensor ScaledLowRank(const LoraSpec& spec, const AdaptedCall& call,
                         const at::Tensor& input) {
  at::Tensor low = Lowered(call, Dropped(spec, input));
  const at::Tensor high = Raised(call, low);
  low.reset();
  return at::mul(high, kScaling);
}

/// B·A as DoRA computes it: the adapters' result for a unit matrix.
at::Tensor AdaptersProduct(const AdaptedCall& call) {
  const at::Tensor& a = call.adapter.narrow;
  const at::Tensor unit = at::eye(a.size(1), a.options());
  return LowRank(call, unit).t();
}

/// The norm of each row of W + s·BA, without gradients.
at::Tensor DirectionNorms(const at::Tensor& weight, const at::Tensor& product) {
  const at::Tensor sum = at::add(weight, at::mul(product, kScaling));
  return at::linalg_vector_norm(sum, 2, at::IntArrayRef{1});
}

/// The layer without its bias, on what DoRA's adapters read.
at::Tensor ResultWithoutBias(const AdaptedCall& call, const at::Tensor& input,
                             const at::Tensor& weight, const at::Tensor& result,
                             bool drops) {
  if (drops) return at::linear(input, weight);
  const c10::IValue& bias = call.arguments[kBiasArgument];
  const bool has_bias = bias.isTensor() && bias.toTensor().defined();
  return has_bias ? at::sub(result, bias.toTensor()) : result;
}

/// What dequantize_module_weight returns: a new tensor if bitsandbytes holds
/// the weight in 4 bits, otherwise the weight.
at::Tensor WholeWeight(const at::Tensor& weight) {
  return QuantizedWeights::IsCopiedByAdapters(weight)
             ? at::empty(weight.sizes(), weight.options())
             : weight;
}

/// What DoRA adds to the layer's result. All names live until it returns, as
/// those of DoraLinearLayer.forward do.
at::Tensor DoraTerm(const LoraSpec& spec, const AdaptedCall& call,
                    const at::Tensor& input, const at::Tensor& result) {
  const at::Tensor x = Dropped(spec, input);
  const at::Tensor product = InType(AdaptersProduct(call), x.scalar_type());
  const at::Tensor weight =
      InType(WholeWeight(call.adapter.weight), x.scalar_type());
  const at::Tensor norms = DirectionNorms(weight, product.detach());
  const at::Tensor scale = at::div(call.adapter.magnitude, norms).view({1, -1});
  const at::Tensor low_rank = LowRank(call, x);
  const at::Tensor base =
      ResultWithoutBias(call, x, weight, result, spec.dropout > 0);
  const at::Tensor rescaled = at::mul(at::sub(scale, 1), base);
  const at::Tensor added = at::mul(at::mul(scale, low_rank), kScaling);
  return at::add(rescaled, added);
}

/// What VeRA adds to the layer's result. B is frozen, so its operand dies.
at::Tensor VeraTerm(const LoraSpec& spec, const AdaptedCall& call,
                    const at::Tensor& input) {
  const LayerAdapter& adapter = call.adapter;
  const at::Tensor a = at::slice(adapter.narrow, 1, 0, adapter.weight.size(1));
  const at::Tensor b = at::slice(adapter.wide, 0, 0, adapter.weight.size(0));
  at::Tensor low = at::linear(Dropped(spec, input), a);
  low = at::mul(adapter.low_scale, low);
  const at::Tensor high = at::linear(low, b);
  low.reset();
  return at::mul(adapter.magnitude, high);
}

at::Tensor TermOf(const LoraSpec& spec, const AdaptedCall& call,
                  const at::Tensor& input, const at::Tensor& result) {
  if (spec.method == AdapterMethod::kVera) return VeraTerm(spec, call, input);
  return spec.dora ? DoraTerm(spec, call, input, result)
                   : ScaledLowRank(spec, call, input);
}

/// The layer's result with LayerAdapter::parts.
at::Tensor WithParts(const LoraSpec& spec, const AdaptedCall& call,
                     at::Tensor result) {
  if (call.scale.defined()) {
    const c10::IValue& bias = call.arguments[kBiasArgument];
    return ScaledResult(std::move(result),
                        bias.isNone() ? at::Tensor() : bias.toTensor(),
                        call.scale);
  }
  if (spec.method == AdapterMethod::kOft) return result;
  const at::Tensor input = call.arguments[call.layer.input].toTensor();
  return at::add(result, DeltaTerm(spec, call.adapter, input));
}

/// IA3's vector, which Python multiplies by 1.
at::Tensor Ia3Scale(const at::Tensor& vector) {
  return at::mul(vector.flatten(), 1);
}

}  // namespace

void RequireAdaptable(const LoraSpec& spec, const AdaptedCall& call) {
  const c10::IValue* const groups = ArgumentNamed(call, "groups");
  if (groups != nullptr && groups->toInt() != 1) {
    RefuseAdapter(call, "LoRA of a convolution in groups is not modelled");
  }
  const c10::IValue* const transposed = ArgumentNamed(call, "transposed");
  if (transposed != nullptr && transposed->toBool()) {
    RefuseAdapter(call, "PEFT adapts no transposed convolution");
  }
  const at::Tensor& weight = call.arguments[call.layer.weight].toTensor();
  const bool needs_linear = spec.dora || spec.method != AdapterMethod::kLora;
  if (needs_linear && (call.layer.name != "aten::linear" ||
                       weight.sizes() != call.adapter.weight.sizes() ||
                       weight.strides() != call.adapter.weight.strides())) {
    RefuseAdapter(call,
                  "DoRA and methods other than LoRA are modelled for "
                  "nn.Linear alone");
  }
}

std::vector<at::Tensor> AdaptedInput(const LoraSpec& spec, AdaptedCall& call) {
  if (spec.method == AdapterMethod::kOft ||
      spec.method == AdapterMethod::kBoft) {
    std::vector<at::Tensor> made = RotatedInput(
        spec, call.adapter, call.arguments[call.layer.input].toTensor());
    if (spec.method == AdapterMethod::kBoft) call.scale = made[1];
    return made;
  }
  const at::Tensor& vector = call.adapter.narrow;
  if (spec.method != AdapterMethod::kIa3 || !vector.defined()) return {};
  const at::Tensor input = call.arguments[call.layer.input].toTensor();
  at::Tensor scale = Ia3Scale(vector);
  at::Tensor x = InType(input, vector.scalar_type());
  at::Tensor scaled = InType(at::mul(x, scale), input.scalar_type());
  return {std::move(scale), std::move(x), std::move(scaled)};
}

at::Tensor AdaptedResult(const LoraSpec& spec, const AdaptedCall& call,
                         at::Tensor result) {
  const at::ScalarType type = result.scalar_type();
  const at::Tensor input = call.arguments[call.layer.input].toTensor();
  if (call.layer.kind == WeightUse::kEmbedding) {
    // Without dropout; the term has a name until the layer returns.
    const at::Tensor term = ScaledLowRank({}, call, input);
    result = at::add(result, term);
    return InType(result, type);
  }
  if (!call.adapter.parts.empty()) {
    result = WithParts(spec, call, std::move(result));
    return InType(result, input.scalar_type());
  }
  const bool is_four_bits =
      QuantizedWeights::IsCopiedByAdapters(call.adapter.weight);
  if (spec.method == AdapterMethod::kIa3) {
    if (call.adapter.wide.defined()) {
      const at::Tensor scale = Ia3Scale(call.adapter.wide);
      result = at::mul(result, scale);
    }
    if (is_four_bits) result = result.clone();
    return InType(result, type);
  }
  // bnb.py copies the result, and casts LoRA's term before the sum.
  if (is_four_bits) result = result.clone();
  const at::Tensor x = InType(input, call.adapter.narrow.scalar_type());
  const bool is_vera = spec.method == AdapterMethod::kVera;
  if (is_four_bits && !spec.dora && !is_vera) {
    return at::add(result, InType(ScaledLowRank(spec, call, x), type));
  }
  result = at::add(result, TermOf(spec, call, x, result));
  result = InType(result, type);
  return is_vera ? InType(result, input.scalar_type()) : result;
}

}  // namespace foretell
