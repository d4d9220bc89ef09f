#include "src/program/liger.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <initializer_list>

namespace foretell::liger {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using Tensors = torch::autograd::variable_list;

/// The results of an operator of meta/liger.cc.
Tensors Launch(const char* name, std::initializer_list<at::Tensor> operands) {
  const c10::OperatorHandle op =
      c10::Dispatcher::singleton().findSchemaOrThrow(name, "");
  torch::jit::Stack stack(operands.begin(), operands.end());
  op.callBoxed(&stack);
  Tensors results;
  for (const c10::IValue& value : stack) results.push_back(value.toTensor());
  return results;
}

struct RmsNormFunction : Function<RmsNormFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x,
                            const at::Tensor& weight) {
    const at::Tensor rows = x.contiguous();
    const Tensors results = Launch("liger::rms_norm", {rows, weight});
    context->save_for_backward({rows, weight, results[1]});
    return results[0];
  }

  static Tensors backward(AutogradContext* context, const Tensors& gradients) {
    const Tensors saved = context->get_saved_variables();
    return Launch("liger::rms_norm_backward",
                  {gradients[0].contiguous(), saved[0], saved[1], saved[2]});
  }
};

/// Of copies, for operands in another layout.
Tensors Rotated(const at::Tensor& queries, const at::Tensor& keys,
                const at::Tensor& cosine, const at::Tensor& sine) {
  const at::Tensor q = queries.transpose(1, 2).contiguous();
  const at::Tensor k = keys.transpose(1, 2).contiguous();
  Launch("liger::rope_", {q, k, cosine, sine});
  return {q.transpose(1, 2), k.transpose(1, 2)};
}

struct RopeFunction : Function<RopeFunction> {
  static Tensors forward(AutogradContext* context, const at::Tensor& queries,
                         const at::Tensor& keys, const at::Tensor& cosine,
                         const at::Tensor& sine) {
    context->save_for_backward({cosine, sine});
    return Rotated(queries, keys, cosine, sine);
  }

  static Tensors backward(AutogradContext* context, const Tensors& gradients) {
    const Tensors saved = context->get_saved_variables();
    Tensors results = Rotated(gradients[0], gradients[1], saved[0], saved[1]);
    results.resize(4);
    return results;
  }
};

struct SwiGluFunction : Function<SwiGluFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& gate,
                            const at::Tensor& up) {
    const at::Tensor a = gate.contiguous(), b = up.contiguous();
    context->save_for_backward({a, b});
    return Launch("liger::swiglu", {a, b})[0];
  }

  static Tensors backward(AutogradContext* context, const Tensors& gradients) {
    const Tensors saved = context->get_saved_variables();
    return Launch("liger::swiglu_backward",
                  {gradients[0].contiguous(), saved[0], saved[1]});
  }
};

/// The backward pass multiplies by the gradient of the loss unless that is 1,
/// as it is in a step.
struct CrossEntropyFunction : Function<CrossEntropyFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& logits,
                            const at::Tensor& classes) {
    const at::Tensor losses = at::zeros({logits.size(0)}, logits.options());
    Launch("liger::cross_entropy_", {logits, classes, losses});
    context->save_for_backward({logits});
    return at::sum(losses);
  }

  static Tensors backward(AutogradContext* context,
                          const Tensors& /*gradients*/) {
    return {context->get_saved_variables()[0], {}};
  }
};

/// Rows of logits that exist at a time: as many elements as the states have,
/// about.
std::int64_t ChunkRows(const at::Tensor& states, const at::Tensor& weight) {
  const auto up = [](std::int64_t a, std::int64_t b) {
    return (a + b - 1) / std::max<std::int64_t>(1, b);
  };
  const std::int64_t times = up(weight.size(0), states.size(1));
  return static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(up(states.size(0), times))));
}

/// What the loop over the rows makes; a loop in Python keeps the tensors of a
/// round until those of the next exist.
class HeadLoop {
 public:
  HeadLoop(const at::Tensor& states, const at::Tensor& weight,
           const at::Tensor& classes)
      : states_(states),
        weight_(weight),
        classes_(classes),
        gradient_(at::zeros_like(states)),
        losses_(at::zeros({states.size(0)},
                          gradient_.options().dtype(at::kFloat))) {
    if (weight.requires_grad()) weight_gradient_ = at::zeros_like(weight);
  }

  void Round(std::int64_t first, std::int64_t rows, bool in_floats) {
    const at::Tensor chunk = states_.narrow(0, first, rows);
    logits_ = at::matmul(chunk, weight_.t());
    const at::ScalarType type = logits_.scalar_type();
    if (in_floats) logits_ = logits_.to(at::kFloat);
    Launch("liger::cross_entropy_", {logits_, classes_.narrow(0, first, rows),
                                     losses_.narrow(0, first, rows)});
    if (in_floats) logits_ = logits_.to(type);
    logits_gradient_ = in_floats ? at::mul(logits_, 1.0) : logits_;
    gradient_.narrow(0, first, rows)
        .copy_(at::matmul(logits_gradient_, weight_));
    if (!weight_gradient_.defined()) return;
    if (in_floats) {
      weight_gradient_.addmm_(logits_.t(), chunk);
    } else {
      AddProduct(chunk);
    }
  }

  at::Tensor Loss() const { return at::sum(losses_); }
  Tensors Gradients() const { return {gradient_, weight_gradient_}; }

 private:
  /// Liger's sum of products, in f32 for 16-bit operands (PyTorch 2.8 and
  /// later), else with the product in memory.
  void AddProduct(const at::Tensor& chunk) {
    transposed_ = logits_.t();
    const at::ScalarType type = transposed_.scalar_type();
    if (weight_gradient_.scalar_type() == at::kFloat && type != at::kFloat) {
      const at::Tensor right = chunk.to(type);
      at::addmm_out(weight_gradient_, weight_gradient_, transposed_, right,
                    at::kFloat);
    } else {
      weight_gradient_.add_(at::mm(transposed_, chunk).to(at::kFloat));
    }
  }

  const at::Tensor& states_;
  const at::Tensor& weight_;
  const at::Tensor& classes_;
  at::Tensor gradient_;
  at::Tensor losses_;
  at::Tensor weight_gradient_;  ///< Undefined for a frozen weight.
  at::Tensor logits_;
  at::Tensor logits_gradient_;
  at::Tensor transposed_;
};

struct LinearCrossEntropyFunction : Function<LinearCrossEntropyFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& states,
                            const at::Tensor& weight, const at::Tensor& classes,
                            bool in_floats) {
    HeadLoop loop(states, weight, classes);
    const std::int64_t each = ChunkRows(states, weight);
    const std::int64_t all = states.size(0);
    for (std::int64_t first = 0; first < all; first += each) {
      loop.Round(first, std::min(each, all - first), in_floats);
    }
    context->save_for_backward(loop.Gradients());
    return loop.Loss();
  }

  static Tensors backward(AutogradContext* context,
                          const Tensors& /*gradients*/) {
    const Tensors saved = context->get_saved_variables();
    return {saved[0], saved[1], {}, {}};
  }
};

}  // namespace

at::Tensor RmsNorm(const at::Tensor& x, const at::Tensor& weight) {
  return RmsNormFunction::apply(x, weight);
}

void Rotate(at::Tensor& queries, at::Tensor& keys, const at::Tensor& cosine,
            const at::Tensor& sine) {
  const Tensors rotated = RopeFunction::apply(queries, keys, cosine, sine);
  queries = rotated[0];
  keys = rotated[1];
}

at::Tensor SwiGlu(const at::Tensor& gate, const at::Tensor& up) {
  return SwiGluFunction::apply(gate, up);
}

at::Tensor CrossEntropy(const at::Tensor& logits, const at::Tensor& classes) {
  return CrossEntropyFunction::apply(logits, classes);
}

at::Tensor LinearCrossEntropy(const at::Tensor& states,
                              const at::Tensor& weight,
                              const at::Tensor& classes, bool in_floats) {
  return LinearCrossEntropyFunction::apply(states, weight, classes, in_floats);
}

}  // namespace foretell::liger
