#include "src/program/meta/torch_scope.h"

namespace foretell {
namespace {

thread_local TorchGeneration scope_generation = TorchVersion{}.Generation();

}  // namespace

TorchScope::TorchScope(const TorchVersion& torch) {
  scope_generation = torch.Generation();
}

TorchScope::~TorchScope() { scope_generation = TorchVersion{}.Generation(); }

TorchGeneration TorchScope::Generation() { return scope_generation; }

}  // namespace foretell
