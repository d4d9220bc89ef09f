// ReLU and dropout in one pass over the memory.
//
// Dropout as a framework does it draws one number per element from a sequential
// generator, on one thread, and stores a mask; at a width of 128 that costs
// more than the layer's matrix product. Here element (i, c) is kept by a hash
// of its place and of one seed per call: any thread may compute it, in vector
// registers. And no mask is stored: the output is positive exactly where the
// input was positive and the element was kept, which is all that the gradient
// needs.

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <mutex>

#include "src/network/row_ops.h"
#include "src/network/segment_ops.h"

namespace foretell::learned {
namespace {

constexpr std::int64_t kDropoutRowsPerTask = 64;

std::uint64_t DrawSeed() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::lock_guard<std::mutex> lock(generator.mutex());
  return at::check_generator<at::CPUGeneratorImpl>(generator)->random64();
}

// Differs between rows and between calls.
std::uint32_t RowSeed(std::uint64_t seed, std::int64_t row) {
  const auto low = static_cast<std::uint32_t>(seed);
  const auto high = static_cast<std::uint32_t>(seed >> 32);
  return MixBits(MixBits(static_cast<std::uint32_t>(row) ^ low) + high);
}

template <typename T>
void Apply(const at::Tensor& x, double probability) {
  const std::uint64_t seed = DrawSeed();
  const auto threshold =
      static_cast<std::uint32_t>(std::ldexp(probability, 32));
  const T scale = static_cast<T>(1 / (1 - probability));
  const std::int64_t width = x.size(-1);
  T* rows = x.mutable_data_ptr<T>();
  at::parallel_for(0, x.size(0), kDropoutRowsPerTask,
                   [=](std::int64_t first, std::int64_t last) {
                     for (std::int64_t i = first; i < last; ++i) {
                       ReluDropoutRow(rows + i * width, scale,
                                      {RowSeed(seed, i), threshold}, width);
                     }
                   });
}

template <typename T>
void Mask(const at::Tensor& gradient, const at::Tensor& y, double probability,
          const at::Tensor& out) {
  const T scale = static_cast<T>(1 / (1 - probability));
  const std::int64_t width = y.size(-1);
  const T* from = gradient.const_data_ptr<T>();
  const T* sign = y.const_data_ptr<T>();
  T* to = out.mutable_data_ptr<T>();
  at::parallel_for(0, y.size(0), kDropoutRowsPerTask,
                   [=](std::int64_t first, std::int64_t last) {
                     MaskedScaleRow(to + first * width, from + first * width,
                                    sign + first * width, scale,
                                    (last - first) * width);
                   });
}

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

class ReluDropoutFunction
    : public torch::autograd::Function<ReluDropoutFunction> {
 public:
  static at::Tensor forward(AutogradContext* context, at::Tensor x,
                            double probability) {
    x.scalar_type() == at::kFloat ? Apply<float>(x, probability)
                                  : Apply<double>(x, probability);
    context->mark_dirty({x});
    context->save_for_backward({x});
    context->saved_data["probability"] = probability;
    return x;
  }

  static variable_list backward(AutogradContext* context,
                                const variable_list& gradients) {
    const double probability = context->saved_data["probability"].toDouble();
    const at::Tensor y = context->get_saved_variables()[0];
    const at::Tensor gradient = gradients[0].contiguous();
    at::Tensor out = at::empty_like(gradient);
    y.scalar_type() == at::kFloat ? Mask<float>(gradient, y, probability, out)
                                  : Mask<double>(gradient, y, probability, out);
    return {out, at::Tensor()};
  }
};

bool HasOwnLoop(const at::Tensor& x) {
  return x.is_cpu() && x.is_contiguous() && x.dim() == 2 &&
         (x.scalar_type() == at::kFloat || x.scalar_type() == at::kDouble);
}

}  // namespace

at::Tensor ReluDropout(at::Tensor x, double probability) {
  if (probability == 0) return x.relu_();
  if (!HasOwnLoop(x)) return at::dropout(x.relu_(), probability, true);
  return ReluDropoutFunction::apply(x, probability);
}

}  // namespace foretell::learned
