#include "src/host/dispatch_probes.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>
#include <torch/version.h>

namespace foretell::host {
namespace {

/// Rows and columns of all operands: arithmetic costs next to nothing.
constexpr std::int64_t kSize = 4;

/// What every operator reads; each uses what it needs.
struct Operands {
  at::Tensor matrix;  ///< [4, 4]
  at::Tensor other;   ///< [4, 4]
  at::Tensor bias;    ///< [4]
  at::Tensor images;  ///< [1, 4, 4, 4]
};

struct ProbedOperator {
  const char* name;
  const char* kind;
  at::Tensor (*call)(const Operands& operands);
};

// clang-format off
const ProbedOperator kOperators[] = {
    {"add",       "elementwise", [](const Operands& o) { return at::add(o.matrix, o.other); }},
    {"sigmoid",   "elementwise", [](const Operands& o) { return at::sigmoid(o.matrix); }},
    {"tanh",      "elementwise", [](const Operands& o) { return at::tanh(o.matrix); }},
    {"mm",        "product",     [](const Operands& o) { return at::mm(o.matrix, o.other); }},
    {"linear",    "product",     [](const Operands& o) { return at::linear(o.matrix, o.other, o.bias); }},
    {"transpose", "view",        [](const Operands& o) { return at::transpose(o.matrix, 0, 1); }},
    {"slice",     "view",        [](const Operands& o) { return at::slice(o.matrix, 0, 1, 3); }},
    {"sum",       "reduction",   [](const Operands& o) { return at::sum(o.matrix, 1); }},
    {"softmax",   "reduction",   [](const Operands& o) { return at::softmax(o.matrix, 1); }},
    {"avg_pool2d", "layer",      [](const Operands& o) { return at::avg_pool2d(o.images, {2, 2}); }},
    {"cat",       "copy",        [](const Operands& o) { return at::cat({o.matrix, o.other}, 1); }},
};
// clang-format on

Operands MakeOperands(at::Device device, bool grad) {
  const at::TensorOptions options =
      at::TensorOptions().device(device).dtype(at::kFloat);
  const auto make = [&](at::IntArrayRef shape) {
    return at::ones(shape, options).set_requires_grad(grad);
  };
  return {.matrix = make({kSize, kSize}),
          .other = make({kSize, kSize}),
          .bias = make({kSize}),
          .images = make({1, kSize, kSize, kSize})};
}

Probe MakeProbe(const ProbedOperator& probed, at::Device device, bool grad) {
  return {.what = {.probe = probed.name,
                   .kind = probed.kind,
                   .tensors = device.is_meta() ? "meta" : "cpu",
                   .grad = grad},
          .call = [call = probed.call, grad,
                   operands = MakeOperands(device, grad)] {
            const c10::AutoGradMode mode(grad);
            call(operands);
          }};
}

}  // namespace

std::vector<Probe> DispatchProbes() {
  at::set_num_threads(1);
  std::vector<Probe> probes;
  for (const ProbedOperator& probed : kOperators) {
    for (const at::DeviceType device : {at::kCPU, at::kMeta}) {
      for (const bool grad : {false, true}) {
        probes.push_back(MakeProbe(probed, device, grad));
      }
    }
  }
  return probes;
}

std::string LibTorchVersion() { return TORCH_VERSION; }

}  // namespace foretell::host
