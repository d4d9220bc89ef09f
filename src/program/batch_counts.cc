#include "src/program/batch_counts.h"

#include <map>
#include <string>
#include <string_view>

#include "src/core/failure.h"

namespace foretell {
namespace {

thread_local BatchCounts* current_counts = nullptr;

constexpr std::string_view kMean = "running_mean";
constexpr std::string_view kCount = "num_batches_tracked";

const c10::StorageImpl* StorageOf(const at::Tensor& tensor) {
  return tensor.storage().unsafeGetStorageImpl();
}

/// The argument, None if the operator has none of this name.
c10::IValue ArgumentOf(const c10::FunctionSchema& schema,
                       const torch::jit::Stack& stack, std::string_view name) {
  const auto place = schema.argumentIndexWithName(name);
  if (!place) return {};
  return stack[stack.size() - schema.arguments().size() +
               static_cast<std::size_t>(*place)];
}

bool IsTensor(const c10::IValue& value) {
  return value.isTensor() && value.toTensor().defined() &&
         value.toTensor().has_storage();
}

}  // namespace

BatchCounts::BatchCounts(const std::vector<NamedTensor>& buffers) {
  if (current_counts != nullptr) {
    throw InternalFailure("batches are already counted");
  }
  std::map<std::string, at::Tensor> named;
  for (const NamedTensor& one : buffers) named.emplace(one.name, one.tensor);
  for (const auto& [name, mean] : named) {
    if (!name.ends_with(kMean)) continue;
    const std::string module = name.substr(0, name.size() - kMean.size());
    const auto count = named.find(module + std::string(kCount));
    if (count == named.end()) continue;
    counts_.emplace(StorageOf(mean), count->second);
    own_.insert(StorageOf(count->second));
  }
  current_counts = this;
}

BatchCounts::~BatchCounts() { current_counts = nullptr; }

void BatchCounts::CountBefore(const at::Tensor& running_mean) {
  const auto found = counts_.find(StorageOf(running_mean));
  if (found == counts_.end()) return;
  if (!counted_.contains(StorageOf(found->second))) found->second.add_(1);
  counted_.erase(StorageOf(found->second));
}

void BatchCounts::Note(const c10::OperatorHandle& op,
                       const torch::jit::Stack& stack) {
  if (current_counts == nullptr || current_counts->counts_.empty()) return;
  const c10::FunctionSchema& schema = op.schema();
  if (schema.arguments().empty()) return;
  // add_(count, 1), or add in a graph without operators in place.
  const c10::IValue& first = stack[stack.size() - schema.arguments().size()];
  if (IsTensor(first) &&
      current_counts->own_.contains(StorageOf(first.toTensor()))) {
    current_counts->counted_.insert(StorageOf(first.toTensor()));
    return;
  }
  const c10::IValue trains = ArgumentOf(schema, stack, "training");
  const c10::IValue mean = ArgumentOf(schema, stack, kMean);
  if (!trains.isBool() || !trains.toBool() || !IsTensor(mean)) return;
  current_counts->CountBefore(mean.toTensor());
}

}  // namespace foretell
