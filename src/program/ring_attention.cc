#include "src/program/ring_attention.h"

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include <cmath>
#include <utility>

#include "src/core/failure.h"
#include "src/program/ring_exchange.h"
#include "src/program/ring_kernel.h"

// Ring attention of PyTorch 2.13 (_templated_ring_attention and
// _templated_ring_attention_backward of torch/distributed/tensor/experimental/
// _context_parallel/_attention.py), which runs the fused kernel once for the
// keys and values of each GPU and merges the results in f32. What a name holds
// there until it is bound again, a variable holds here.
//
// With load balancing, which needs a causal mask, a GPU has one part from the
// front and one from the back of each sequence. In all rounds but the first,
// the first GPU computes the second half of its queries, for all keys; others
// compute all queries for the first half of the keys of GPUs before them. The
// first GPU is what is modelled, as its partial updates take the most memory.
// Without load balancing it is the last one, which skips no round.

namespace foretell {
namespace {

using torch::autograd::AutogradContext;
using Tensors = torch::autograd::variable_list;

/// The memory-efficient kernel makes log-sum-exp of multiples of these tokens.
constexpr std::int64_t kPadding = 32;
constexpr std::int64_t kTokens = 2;  ///< Of [batch, heads, tokens, size].

/// The second half of the tokens, or all.
at::Tensor Late(const at::Tensor& x, bool is_half) {
  const std::int64_t half = x.size(kTokens) / 2;
  return is_half ? x.narrow(kTokens, half, half) : x;
}

/// `x` with another second half.
at::Tensor WithLate(const at::Tensor& x, const at::Tensor& late) {
  return at::cat({x.narrow(kTokens, 0, x.size(kTokens) / 2), late}, kTokens);
}

at::Tensor PackPair(const at::Tensor& keys, const at::Tensor& values) {
  return at::cat({keys.flatten(), values.flatten()});
}

/// Takes what PackPair() packed apart, in the shapes of `key` and `value`.
void UnpackPair(const at::Tensor& packed, at::Tensor& key, at::Tensor& value) {
  const std::int64_t keys = key.numel();
  key = packed.narrow(0, 0, keys).reshape(key.sizes());
  value = packed.narrow(0, keys, value.numel()).reshape(value.sizes());
}

/// _SDPAMerger.
class ResultMerger {
 public:
  /// `is_late`: of the second half of the queries.
  void Add(const RingKernel::Result& round, bool is_late) {
    const at::Tensor block = round.out.to(at::kFloat);
    const at::Tensor block_sum = round.log_sum_exp.to(at::kFloat).unsqueeze(-1);
    if (!out_.defined()) {
      out_ = block;
      sum_ = block_sum;
      return;
    }
    at::Tensor out = Late(out_, is_late);
    at::Tensor sum = Late(sum_, is_late);
    out = Moved(out, block, Share(block_sum, sum));
    sum = at::sub(sum, LogShare(sum, block_sum));
    sum_ = is_late ? WithLate(sum_, sum) : sum;
    out_ = is_late ? WithLate(out_, out) : out;
  }

  /// In the type of `like`.
  RingKernel::Result Take(RingKernel::Result like) const {
    return {out_.to(like.out.scalar_type()), sum_.squeeze(-1),
            std::move(like.rest)};
  }

 private:
  // Functions, as Python drops an operand once its operator has run.
  static at::Tensor Share(const at::Tensor& a, const at::Tensor& b) {
    return at::sigmoid(at::sub(a, b));
  }
  static at::Tensor LogShare(const at::Tensor& a, const at::Tensor& b) {
    return at::log_sigmoid(at::sub(a, b));
  }
  static at::Tensor Product(at::Tensor share, const at::Tensor& a,
                            const at::Tensor& b) {
    return at::mul(share, at::sub(a, b));
  }
  static at::Tensor Moved(const at::Tensor& from, const at::Tensor& to,
                          at::Tensor share) {
    return at::sub(from, Product(std::move(share), from, to));
  }

  at::Tensor out_;
  at::Tensor sum_;  ///< Log-sum-exp, [batch, heads, tokens, 1].
};

/// What the rounds of a pass have in common.
struct Ring final : torch::CustomClassHolder {
  Ring(const ParallelSpec& plan, const RingKernel& runs, bool masks_later)
      : spec(plan), kernel(runs), is_causal(masks_later) {}

  ParallelSpec spec;
  RingKernel kernel;
  bool is_causal = false;

  bool IsBalanced() const { return is_causal && !spec.unbalanced; }
  /// Whether the round is about the second half of the queries.
  bool IsLate(int round) const { return round > 0 && IsBalanced(); }
  /// Other GPUs' keys are before all queries, or not masked at all.
  bool IsCausal(int round) const { return round == 0 && is_causal; }
  bool IsLast(int round) const { return round + 1 == spec.gpus; }

  RingKernel::Result Forward(const at::Tensor& query, at::Tensor key,
                             at::Tensor value) const {
    key = key.contiguous();
    value = value.contiguous();
    RingExchange exchange(spec, spec.all_to_all);
    ResultMerger merger;
    RingKernel::Operands operands;
    RingKernel::Result result;
    for (int i = 0; i < spec.gpus; ++i) {
      if (i > 0) UnpackPair(exchange.Next(), key, value);
      if (!IsLast(i)) exchange.Send(PackPair(key, value));
      operands = {Late(query, IsLate(i)), key, value};
      result = kernel.Run(operands, IsCausal(i));
      merger.Add(result, IsLate(i));
    }
    return merger.Take(std::move(result));
  }

  RingKernel::Gradients Backward(const at::Tensor& gradient,
                                 const RingKernel::Operands& all,
                                 const RingKernel::Result& result) const;
};

/// The gradients of this GPU's queries, and of the keys and values that pass
/// by, in f32.
class GradientSums {
 public:
  GradientSums(const ParallelSpec& spec, const RingKernel::Operands& all)
      : exchange_(spec, /*rotates=*/true),
        sums_{ZerosLike(all.query), ZerosLike(all.key), ZerosLike(all.value)} {}

  void Add(const RingKernel::Gradients& round, bool is_first, bool is_late) {
    if (!is_first) {
      packed_ = exchange_.Next();
      UnpackPair(packed_, sums_.key, sums_.value);
    }
    sums_.key.add_(round.key);
    sums_.value.add_(round.value);
    packed_ = PackPair(sums_.key, sums_.value);
    exchange_.Send(packed_);
    at::Tensor late = Late(sums_.query, is_late).add_(round.query);
    if (is_late) sums_.query = WithLate(sums_.query, late);
  }

  RingKernel::Gradients Take(at::ScalarType type) {
    sums_.query = sums_.query.to(type);
    packed_ = exchange_.Next().to(type);
    UnpackPair(packed_, sums_.key, sums_.value);
    return std::move(sums_);
  }

 private:
  static at::Tensor ZerosLike(const at::Tensor& x) {
    return at::zeros_like(x, x.options().dtype(at::kFloat));
  }

  RingExchange exchange_;
  RingKernel::Gradients sums_;
  at::Tensor packed_;
};

RingKernel::Gradients Ring::Backward(const at::Tensor& gradient,
                                     const RingKernel::Operands& all,
                                     const RingKernel::Result& result) const {
  GradientSums sums(spec, all);
  at::Tensor key = all.key.contiguous();
  at::Tensor value = all.value.contiguous();
  RingExchange exchange(spec, spec.all_to_all);
  at::Tensor packed;
  RingKernel::Operands operands;
  RingKernel::Result mine;
  RingKernel::Gradients gradients;
  for (int i = 0; i < spec.gpus; ++i) {
    if (i > 0) UnpackPair(exchange.Next(), key, value);
    if (!IsLast(i)) {
      packed = PackPair(key, value);
      exchange.Send(packed);
    }
    const bool is_late = IsLate(i);
    operands = {Late(all.query, is_late), key, value};
    mine = {Late(result.out, is_late),
            is_late ? Late(result.log_sum_exp, true).contiguous()
                    : result.log_sum_exp,
            result.rest};
    gradients = kernel.RunBackward(Late(gradient, is_late), operands, mine,
                                   IsCausal(i));
    sums.Add(gradients, i == 0, is_late);
  }
  return sums.Take(all.query.scalar_type());
}

struct RingFunction : torch::autograd::Function<RingFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& query,
                            const at::Tensor& key, const at::Tensor& value,
                            const c10::intrusive_ptr<Ring>& ring) {
    const RingKernel::Result result = ring->Forward(query, key, value);
    Tensors saved = {query, key, value, result.out, result.log_sum_exp};
    saved.insert(saved.end(), result.rest.begin(), result.rest.end());
    context->save_for_backward(std::move(saved));
    context->saved_data["ring"] = c10::IValue::make_capsule(ring);
    return result.out;
  }

  static Tensors backward(AutogradContext* context, const Tensors& gradients) {
    const Tensors saved = context->get_saved_variables();
    const auto ring = c10::static_intrusive_pointer_cast<Ring>(
        context->saved_data["ring"].toCapsule());
    const RingKernel::Gradients of =
        ring->Backward(gradients[0], {saved[0], saved[1], saved[2]},
                       {saved[3], saved[4], {saved.begin() + 5, saved.end()}});
    return {of.query, of.key, of.value, {}};
  }
};

RingKernelKind KindOf(const meta::AttentionInputs& in,
                      const ParallelSpec& spec) {
  if (in.mask.defined()) {
    throw InvalidArgument(
        "{}: attention has a mask, which PyTorch cannot share; it shares that "
        "with is_causal or without a mask",
        ToString(spec));
  }
  if (in.query.is_cpu()) return RingKernelKind::kCpuFlash;
  switch (meta::ChooseAttention(in)) {
    case meta::AttentionKernel::kFlash:
      return RingKernelKind::kFlash;
    case meta::AttentionKernel::kEfficient:
      return RingKernelKind::kEfficient;
    case meta::AttentionKernel::kMath:
      break;
  }
  throw InvalidArgument(
      "{}: attention of queries {} and keys {} in {} has no fused kernel, and "
      "others cannot be shared",
      ToString(spec), c10::str(in.query.sizes()), c10::str(in.key.sizes()),
      c10::toString(in.query.scalar_type()));
}

}  // namespace

at::Tensor RingAttention(const meta::AttentionInputs& in,
                         const ParallelSpec& spec) {
  const std::int64_t head = in.query.size(-1);
  const RingKernel kernel = {.kind = KindOf(in, spec),
                             .dropout_p = in.dropout_p,
                             .scale = in.scale.value_or(1 / std::sqrt(head))};
  const auto ring = c10::make_intrusive<Ring>(spec, kernel, in.is_causal);
  const std::int64_t tokens = in.query.size(kTokens);
  if (ring->IsBalanced() && tokens % 2 != 0) {
    throw InvalidArgument(
        "{}: {} tokens on a GPU are not two equal parts, which load balancing "
        "needs; ',unbalanced' is without",
        ToString(spec), tokens);
  }
  const std::int64_t least = tokens / (ring->IsBalanced() ? 2 : 1);
  if (kernel.kind == RingKernelKind::kEfficient && least % kPadding != 0) {
    throw InvalidArgument(
        "{}: the memory-efficient kernel, which FP32 has, pads {} tokens of a "
        "round to {}, and PyTorch merges no padded results",
        ToString(spec), least, kPadding);
  }
  if (kernel.kind != RingKernelKind::kFlash) {
    return RingFunction::apply(in.query, in.key, in.value, ring);
  }
  const at::Tensor out =
      RingFunction::apply(meta::PadHead(in.query), meta::PadHead(in.key),
                          meta::PadHead(in.value), ring);
  return out.size(-1) == head ? out : out.slice(-1, 0, head);
}

}  // namespace foretell
