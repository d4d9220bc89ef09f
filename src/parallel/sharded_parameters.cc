#include <fmt/core.h>

#include <utility>

#include "src/graph/collective.h"
#include "src/parallel/sharded_step.h"

namespace foretell::parallel {

std::vector<ValueId> ShardedStep::TakeShards(std::size_t i, Phase phase,
                                             std::vector<StorageId>& copies) {
  const ShardedUnit& unit = found_.units[i];
  std::vector<ValueId> shards;
  for (const ParameterIndex index : unit.parameters) {
    ValueId shard = shards_[IndexOf(index)];
    if (spec().cpu_offload) {
      const TensorType type{sizes_.OwnDType(index),
                            sizes_.ShardType(index).shape};
      shard = AddTensor(
          {.target = std::string(kFromHost),
           .inputs = {},
           .types = {type},
           .storages = {},
           .phase = phase,
           .scope = unit.path,
           .attributes = {{std::string(kBytesAttribute), type.Bytes()}}},
          type.Bytes(), TensorRole::kParameter,
          fmt::format("shard of {}", graph().value(At(index).value).name));
      copies.push_back(builder().value(shard).storage);
    }
    shards.push_back(shard);
  }
  return shards;
}

ValueId ShardedStep::CastShards(std::size_t i, Phase phase,
                                const std::vector<ValueId>& shards) {
  const ShardedUnit& unit = found_.units[i];
  Added added{
      .target = "_to_copy",
      .inputs = {},
      .types = {},
      .storages = {},
      .phase = phase,
      .scope = unit.path,
      .attributes = OnStream(IsFlat() ? kConvertStream : kGatherStream)};
  std::vector<ParameterIndex> cast;
  for (std::size_t k = 0; k < shards.size(); ++k) {
    const ParameterIndex index = unit.parameters[k];
    if (sizes_.OwnDType(index) == sizes_.TypeOf(index).dtype) continue;
    cast.push_back(index);
    added.inputs.push_back(shards[k]);
  }
  if (cast.empty()) return kNone;
  const std::int64_t bytes = WholeBytes(cast) / sizes_.GpusOf(cast);
  added.types = {sizes_.FlatType(cast, bytes)};
  return AddTensor(std::move(added), bytes, TensorRole::kParameter,
                   fmt::format("converted shards of {}", unit.Name()));
}

void ShardedStep::Gather(std::size_t i, Phase phase) {
  const ShardedUnit& unit = found_.units[i];
  if (sizes_.GpusOf(unit.parameters) == 1) return;
  Added added{.target = {},
              .inputs = {},
              .types = {},
              .storages = {},
              .phase = phase,
              .scope = unit.path,
              .group = sizes_.GpusOf(unit.parameters)};
  std::vector<StorageId> copies;
  added.inputs = TakeShards(i, phase, copies);
  const ValueId cast = CastShards(i, phase, added.inputs);
  if (cast != kNone) added.inputs = {cast};
  // Not before what the unit before it gathered has been copied out.
  if (last_copied_ != kNone && !IsFlat()) added.inputs.push_back(last_copied_);
  const std::int64_t bytes = WholeBytes(unit.parameters);
  const StorageId buffer = builder().AddStorage(
      bytes, TensorRole::kParameter, fmt::format("gathered {}", unit.Name()));
  added.types = {sizes_.FlatType(unit.parameters, bytes)};
  added.storages = {buffer};
  states_[i].gathered =
      AddCollective(kAllGather, bytes, std::move(added)).front();
  builder().Allocate(buffer, Current());
  if (cast != kNone) Free(builder().value(cast).storage);
  for (const StorageId copy : copies) Free(copy);
  states_[i].buffer = buffer;
}

void ShardedStep::MakeWhole(std::size_t i, Phase phase) {
  const ShardedUnit& unit = found_.units[i];
  std::vector<StorageId> copies;
  std::vector<ValueId> inputs = {states_[i].gathered};
  // A group of one copies its own (FSDPParamGroup.wait_for_unshard).
  if (sizes_.GpusOf(unit.parameters) == 1) {
    inputs = TakeShards(i, phase, copies);
  }
  Added added{.target = IsFlat() ? "split_with_sizes" : "split_with_sizes_copy",
              .inputs = std::move(inputs),
              .types = {},
              .storages = {},
              .phase = phase,
              .scope = unit.path};
  for (const ParameterIndex index : unit.parameters) {
    added.types.push_back(sizes_.TypeOf(index));
    added.storages.push_back(
        IsFlat() ? states_[i].buffer
                 : builder().AddStorage(sizes_.WholeBytes(index),
                                        TensorRole::kParameter,
                                        graph().value(At(index).value).name));
  }
  const std::vector<StorageId> storages = added.storages;
  const std::vector<ValueId> values = Add(std::move(added));
  for (std::size_t k = 0; k < values.size(); ++k) {
    const ParameterIndex index = unit.parameters[k];
    if (!IsFlat()) builder().Allocate(storages[k], Current());
    whole_[IndexOf(index)] = storages[k];
    SetStorage(At(index).storage, storages[k]);
    for (const ValueId id : At(index).sources) SetValue(id, values[k]);
  }
  for (const StorageId copy : copies) Free(copy);
  last_copied_ = values.front();
  states_[i].is_whole = true;
}

void ShardedStep::FreeWhole(std::size_t i) {
  if (!std::exchange(states_[i].is_whole, false)) return;
  for (const ParameterIndex index : found_.units[i].parameters) {
    if (!IsFlat()) Free(whole_[IndexOf(index)]);
    for (const ValueId id : At(index).sources) {
      SetValue(id, shards_[IndexOf(index)]);
    }
    SetStorage(At(index).storage,
               builder().value(shards_[IndexOf(index)]).storage);
  }
  if (IsFlat()) FreeBuffer(i);
}

void ShardedStep::FreeBuffer(std::size_t i) {
  const StorageId buffer = std::exchange(states_[i].buffer, kNone);
  if (buffer != kNone) Free(buffer);
}

void ShardedStep::FreeWaiting() {
  if (waiting_) FreeBuffer(*waiting_);
  waiting_.reset();
}

}  // namespace foretell::parallel
