#include <fmt/core.h>

#include <set>
#include <utility>

#include "src/graph/collective.h"
#include "src/parallel/sharded_step.h"

namespace foretell::parallel {

void ShardedStep::EndBackward(std::size_t i) {
  if (std::exchange(states_[i].is_done, true)) return;
  const std::vector<ParameterIndex> trained =
      facts_.TrainedOf(found_.units[i].parameters);
  if (!IsFlat() || trained.empty()) FreeWhole(i);
  if (trained.empty()) return;
  FreePacked();
  const ValueId packed = Pack(i, trained);
  if (IsFlat()) FreeWhole(i);  // Autograd has packed before any hook.
  Scatter(i, trained, packed);
  if (IsFlat()) FreePacked();
}

void ShardedStep::FreePacked() {
  for (const StorageId packed : std::exchange(packed_, {})) Free(packed);
}

ValueId ShardedStep::Pack(std::size_t i,
                          const std::vector<ParameterIndex>& trained) {
  const ShardedUnit& unit = found_.units[i];
  Added added{.target = IsFlat() ? "cat" : "_chunk_cat",
              .inputs = {},
              .types = {},
              .storages = {},
              .scope = unit.path};
  if (IsFlat()) added.attributes = OnStream(kGatherStream);
  for (const ParameterIndex index : trained) {
    added.inputs.push_back(ValueNow(At(index).last_gradient));
  }
  // What the unit before it packed is reduced by then.
  if (last_reduced_ != kNone && !IsFlat())
    added.inputs.push_back(last_reduced_);
  const DType reduced = sizes_.ReducedDType(trained.front());
  std::int64_t bytes = WholeBytes(PackedOf(i, trained));
  TensorType type = sizes_.FlatType(trained, bytes);
  const bool is_cast = type.dtype != reduced;
  if (is_cast && !IsFlat()) {
    type.dtype = reduced;
    bytes = type.Bytes();
  }
  added.types = {std::move(type)};
  const ValueId packed =
      AddTensor(std::move(added), bytes, TensorRole::kGradient,
                fmt::format("packed gradients of {}", unit.Name()));
  packed_.push_back(builder().value(packed).storage);
  std::set<StorageId> gradients;
  for (const ParameterIndex index : trained) {
    gradients.insert(StorageNow(At(index).gradient));
  }
  for (const StorageId gradient : gradients) Free(gradient);
  return is_cast && IsFlat() ? CastPacked(i, packed, reduced) : packed;
}

ValueId ShardedStep::CastPacked(std::size_t i, ValueId packed, DType reduced) {
  const ShardedUnit& unit = found_.units[i];
  const TensorType type{reduced, builder().value(packed).type.shape};
  const ValueId cast =
      AddTensor({.target = "_to_copy",
                 .inputs = {packed},
                 .types = {type},
                 .storages = {},
                 .scope = unit.path,
                 .attributes = OnStream(kScatterStream)},
                type.Bytes(), TensorRole::kGradient,
                fmt::format("converted gradients of {}", unit.Name()));
  packed_.push_back(builder().value(cast).storage);
  return cast;
}

StepRewriter::Added ShardedStep::ToShards(
    std::size_t i, const std::vector<ParameterIndex>& trained,
    std::int64_t bytes, std::vector<ValueId> inputs) {
  const ShardedUnit& unit = found_.units[i];
  const StorageId storage =
      builder().AddStorage(bytes, TensorRole::kGradient,
                           fmt::format("gradients of {}", unit.Name()));
  Added added{.target = "_to_copy",
              .inputs = std::move(inputs),
              .types = {},
              .storages = {},
              .scope = unit.path,
              .attributes = OnStream(kScatterStream),
              .group = sizes_.GpusOf(trained)};
  for (const ParameterIndex index : trained) {
    added.types.push_back(sizes_.ShardType(index));
    added.storages.push_back(storage);
  }
  return added;
}

void ShardedStep::Scatter(std::size_t i,
                          const std::vector<ParameterIndex>& trained,
                          ValueId packed) {
  const ParameterIndex first = trained.front();
  const DType reduced = sizes_.ReducedDType(first);
  const DType own = sizes_.OwnDType(first);
  const std::int64_t bytes = builder().storage(packed_.back()).bytes;
  const std::int64_t shard = bytes / sizes_.GpusOf(trained);
  Added added = ToShards(i, trained, shard, {packed});
  for (TensorType& type : added.types) {
    if (reduced != sizes_.TypeOf(first).dtype) type.dtype = reduced;
  }
  const StorageId storage = added.storages.front();
  std::vector<ValueId> values =
      AddCollective(kReduceScatter, bytes, std::move(added));
  builder().Allocate(storage, Current());
  if (spec().replicas > 1) values = SumReplicas(i, std::move(values), shard);
  if (own != reduced) {
    const std::int64_t width = ByteWidth(reduced);
    Added cast = ToShards(i, trained, shard / width * ByteWidth(own), values);
    for (TensorType& type : cast.types) type.dtype = own;
    const StorageId converted = cast.storages.front();
    values = Add(std::move(cast));
    builder().Allocate(converted, Current());
    Free(storage);
  }
  for (std::size_t k = 0; k < values.size(); ++k) {
    reduced_[IndexOf(trained[k])] = values[k];
  }
  last_reduced_ = values.front();
  if (spec().cpu_offload) {
    SendGradients(values, shard / ByteWidth(reduced) * ByteWidth(own));
  }
}

void ShardedStep::SendGradients(const std::vector<ValueId>& shards,
                                std::int64_t bytes) {
  Add({.target = std::string(kToHost),
       .inputs = shards,
       .types = {},
       .storages = {},
       .attributes = {{std::string(kBytesAttribute), bytes}}});
  Free(builder().value(shards.front()).storage);
}

std::vector<ValueId> ShardedStep::SumReplicas(std::size_t i,
                                              std::vector<ValueId> values,
                                              std::int64_t bytes) {
  Added added{.target = {},
              .inputs = values,
              .types = {},
              .storages = {},
              .scope = found_.units[i].path,
              .group = spec().replicas};
  for (const ValueId id : values) {
    added.types.push_back(builder().value(id).type);
    added.storages.push_back(builder().value(id).storage);
  }
  return AddCollective(kAllReduce, bytes, std::move(added));
}

void ShardedStep::EndAll() {
  for (std::size_t i = 0; i < states_.size(); ++i) EndBackward(i);
  for (std::size_t i = 0; i < states_.size(); ++i) FreeBuffer(i);
  FreePacked();
  for (const StorageId storage : std::exchange(held_, {})) Free(storage);
  for (ValueId id = 0; id < std::ssize(graph().values()); ++id) {
    const Value& value = graph().value(id);
    const ParameterIndex index = facts_.GradientOf(graph(), value);
    if (index == kNone) continue;
    const ValueId reduced = reduced_[IndexOf(index)];
    SetValue(id, reduced);
    SetStorage(value.storage, builder().value(reduced).storage);
  }
  if (spec().cpu_offload) StepOnHost();
}

void ShardedStep::StepOnHost() {
  std::vector<std::int64_t> states(facts_.parameters.size(), 0);
  for (StorageId id = 0; id < std::ssize(graph().storages()); ++id) {
    const ParameterIndex index = facts_.OwnerOf(id);
    const Storage& storage = graph().storage(id);
    if (index == kNone || storage.role != TensorRole::kOptimizerState) continue;
    if (storage.bytes >= sizes_.TypeOf(index).NumElements()) {
      ++states[IndexOf(index)];
    }
  }
  for (const ParameterIndex index : facts_.by_ready) {
    const TensorType type{sizes_.OwnDType(index),
                          sizes_.ShardType(index).shape};
    Add({.target = std::string(kStepOnHost),
         .inputs = {reduced_[IndexOf(index)]},
         .types = {},
         .storages = {},
         .phase = Phase::kOptimizer,
         .attributes = {
             {std::string(kBytesAttribute), type.Bytes()},
             {std::string(kStatesAttribute), states[IndexOf(index)]}}});
  }
}

}  // namespace foretell::parallel
