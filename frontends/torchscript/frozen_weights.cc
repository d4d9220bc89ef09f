#include "frontends/torchscript/frozen_weights.h"

#include <fmt/core.h>
#include <torch/csrc/jit/ir/ir.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "frontends/shared/layer_mode.h"
#include "frontends/torchscript/rewriting.h"

namespace foretell::torchscript {
namespace {

bool IsNormStatistics(const torch::jit::Use& use) {
  const c10::FunctionSchema* const schema = use.user->maybeSchema();
  return schema != nullptr && use.offset < schema->arguments().size() &&
         IsStatistics(schema->arguments()[use.offset].name());
}

struct Constant {
  at::Tensor tensor;
  bool is_weight = false;
};

}  // namespace

ModuleTensors FrozenTensors(const torch::jit::Module& module) {
  std::vector<Constant> constants;
  std::unordered_map<const at::TensorImpl*, std::size_t> places;
  ForEachNode(module, [&](const torch::jit::Node& node) {
    if (!HoldsTensor(node)) return;
    const at::Tensor tensor = node.t(c10::attr::value);
    if (tensor.dim() == 0 || at::isIntegralType(tensor.scalar_type(), true)) {
      return;
    }
    const auto [found, is_new] =
        places.emplace(tensor.unsafeGetTensorImpl(), constants.size());
    if (is_new) constants.push_back({tensor});
    constants[found->second].is_weight |=
        !std::ranges::all_of(node.output()->uses(), IsNormStatistics);
  });
  ModuleTensors tensors;
  for (const Constant& constant : constants) {
    auto& list = constant.is_weight ? tensors.parameters : tensors.buffers;
    list.push_back({fmt::format("constant{}", &constant - constants.data()),
                    constant.tensor});
  }
  return tensors;
}

}  // namespace foretell::torchscript
