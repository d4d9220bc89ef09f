// Activations: the result looks like the input, the gradient like what reaches
// it.

#include "src/program/meta/families.h"
#include "src/program/meta/shapes.h"

namespace foretell::meta {
namespace {

// An operator that visits one element of every tensor argument at a time.
void Elementwise(Call& call) { ReturnPointwise(call, call.ReadTensors()); }

// log_sigmoid: CUDA leaves the buffer, the second result, empty.
void LogSigmoid(Call& call) {
  const at::Tensor input = call.Tensor("self");
  ReturnPointwise(call, {input});
  call.Return(Contiguous(Sizes{0}, input.scalar_type()));
}

void LogSigmoidBackward(Call& call) {
  ReturnPointwise(call, {call.Tensor("grad_output"), call.Tensor("self")});
}

void PreluBackward(Call& call) {
  const at::Tensor& input = call.Tensor("self");
  const at::Tensor& weight = call.Tensor("weight");
  call.Return(Like(input));
  // One value per element; autograd sums it to the weight's shape.
  call.Return(Like(input, weight.scalar_type()));
}

// rrelu: in evaluation the noise stays unused.
void RandomRelu(Call& call) { call.Return(Like(call.Tensor("self"))); }

constexpr KernelRow kActivationKernels[] = {
    {"relu", Elementwise},
    {"hardtanh", Elementwise},
    {"hardtanh_backward", Elementwise},
    {"hardswish", Elementwise},
    {"hardswish_backward", Elementwise},
    {"mish_backward", Elementwise, Policy::kOverrideWhole},
    {"log_sigmoid_forward", LogSigmoid},
    {"log_sigmoid_backward", LogSigmoidBackward},
    {"glu_backward", ReturnContiguousSelf},
    {"glu_jvp", Elementwise},
    {"_prelu_kernel", Elementwise},
    {"_prelu_kernel_backward", PreluBackward},
    {"rrelu_with_noise", RandomRelu},
    {"_add_relu", Elementwise},
};

}  // namespace

std::span<const KernelRow> ActivationKernels() { return kActivationKernels; }

}  // namespace foretell::meta
