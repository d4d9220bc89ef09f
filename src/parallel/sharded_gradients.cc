#include <fmt/core.h>

#include <utility>

#include "src/graph/collective.h"
#include "src/parallel/sharded_step.h"

namespace foretell::parallel {

void ShardedStep::EndBackward(std::size_t i) {
  if (std::exchange(states_[i].is_done, true)) return;
  FreeWhole(i);
  const std::vector<ParameterIndex> trained =
      facts_.TrainedOf(found_.units[i].parameters);
  if (trained.empty()) return;
  FreePacked();
  const ValueId packed = Pack(i, trained);
  Scatter(i, trained, packed);
  if (IsFlat()) FreePacked();
}

void ShardedStep::FreePacked() {
  const StorageId packed = std::exchange(packed_, kNone);
  if (packed != kNone) Free(packed);
}

ValueId ShardedStep::Pack(std::size_t i,
                          const std::vector<ParameterIndex>& trained) {
  const ShardedUnit& unit = found_.units[i];
  Added added{.target = IsFlat() ? "cat" : "_chunk_cat",
              .inputs = {},
              .types = {},
              .storages = {},
              .scope = unit.path};
  for (const ParameterIndex index : trained) {
    for (const ValueId output : graph().node(At(index).ready).outputs) {
      if (graph().value(output).storage == At(index).gradient) {
        added.inputs.push_back(ValueNow(output));
      }
    }
  }
  // What the unit before it packed is reduced by then.
  if (last_reduced_ != kNone && !IsFlat())
    added.inputs.push_back(last_reduced_);
  packed_ =
      builder().AddStorage(WholeBytes(trained), TensorRole::kGradient,
                           fmt::format("packed gradients of {}", unit.Name()));
  added.types = {sizes_.FlatType(trained, WholeBytes(trained))};
  added.storages = {packed_};
  const ValueId packed = Add(std::move(added)).front();
  builder().Allocate(packed_, Current());
  for (const ParameterIndex index : trained) {
    Free(StorageNow(At(index).gradient));
  }
  return packed;
}

void ShardedStep::Scatter(std::size_t i,
                          const std::vector<ParameterIndex>& trained,
                          ValueId packed) {
  const std::int64_t bytes = WholeBytes(trained);
  const ShardedUnit& unit = found_.units[i];
  const StorageId storage =
      builder().AddStorage(bytes / spec().gpus, TensorRole::kGradient,
                           fmt::format("gradients of {}", unit.Name()));
  Added added{.target = {},
              .inputs = {packed},
              .types = {},
              .storages = {},
              .scope = unit.path};
  for (const ParameterIndex index : trained) {
    added.types.push_back(sizes_.ShardType(index));
    added.storages.push_back(storage);
  }
  const std::vector<ValueId> values =
      AddCollective(kReduceScatter, bytes, std::move(added));
  builder().Allocate(storage, Current());
  for (std::size_t k = 0; k < values.size(); ++k) {
    reduced_[IndexOf(trained[k])] = values[k];
  }
  last_reduced_ = values.front();
}

void ShardedStep::EndAll() {
  for (std::size_t i = 0; i < states_.size(); ++i) EndBackward(i);
  for (std::size_t i = 0; i < states_.size(); ++i) FreeBuffer(i);
  FreePacked();
  for (ValueId id = 0; id < std::ssize(graph().values()); ++id) {
    const StorageId storage = graph().value(id).storage;
    const ParameterIndex index = facts_.OwnerOf(storage);
    if (index == kNone || At(index).gradient != storage) continue;
    SetValue(id, reduced_[IndexOf(index)]);
    SetStorage(storage, builder().value(reduced_[IndexOf(index)]).storage);
  }
}

}  // namespace foretell::parallel
