#include "src/program/flex_attention.h"

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "src/core/failure.h"
#include "src/program/private_operator.h"

namespace foretell {
namespace {

using torch::autograd::AutogradContext;
using Tensors = torch::autograd::variable_list;

/// FlexAttentionAutogradOp (torch/_higher_order_ops/flex_attention.py), of
/// which the partitioner drops the largest scores.
struct FlexFunction : torch::autograd::Function<FlexFunction> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& q,
                            const at::Tensor& k, const at::Tensor& v) {
    const torch::jit::Stack results =
        CallAllPrivate("higher_order::flex_attention", q, k, v, q.size(2) > 1);
    const at::Tensor result = results[0].toTensor();
    context->save_for_backward({q, k, v, result, results[1].toTensor()});
    return result;
  }

  static Tensors backward(AutogradContext* context, const Tensors& gradients) {
    const Tensors saved = context->get_saved_variables();
    const at::Tensor delta = CallPrivate("higher_order::flex_attention_delta",
                                         gradients[0], saved[3]);
    const torch::jit::Stack results = CallAllPrivate(
        "higher_order::flex_attention_backward", gradients[0], saved[0],
        saved[1], saved[2], saved[4], delta, saved[0].size(2) > 1);
    return {results[0].toTensor(), results[1].toTensor(),
            results[2].toTensor()};
  }
};

}  // namespace

at::Tensor FlexAttention(const at::Tensor& q, const at::Tensor& k,
                         const at::Tensor& v) {
  constexpr std::int64_t kLeastWidth = 16;
  if (q.size(-1) < kLeastWidth || v.size(-1) < kLeastWidth) {
    throw InvalidArgument("flex_attention: heads of {}, expected at least {}",
                          std::min(q.size(-1), v.size(-1)), kLeastWidth);
  }
  if (k.size(1) == 0 || q.size(1) % k.size(1) != 0) {
    throw InvalidArgument(
        "flex_attention: {} heads are no multiple of the keys' {}", q.size(1),
        k.size(1));
  }
  return FlexFunction::apply(q, k, v);
}

}  // namespace foretell
