#include "src/parallel/sequenced_step.h"

#include <utility>

#include "src/graph/collective.h"

namespace foretell::parallel {

ValueId SequencedStep::AddLike(ValueId id, std::string target,
                               std::vector<ValueId> inputs,
                               const TensorType& type, const Node& node) {
  return AddTensor({.target = std::move(target),
                    .inputs = std::move(inputs),
                    .types = {type},
                    .storages = {},
                    .phase = node.phase,
                    .scope = node.scope},
                   type.Bytes(), StorageOf(id).role,
                   StorageOf(id).label + ".tokens");
}

ValueId SequencedStep::Exchange(std::string_view target, ValueId id,
                                ValueId input, Result result,
                                const Node& node) {
  return AddCollective(target, graph().value(id).type.Bytes(),
                       {.target = {},
                        .inputs = {input},
                        .types = {std::move(result.type)},
                        .storages = {result.storage},
                        .phase = node.phase,
                        .scope = node.scope})
      .front();
}

ValueId SequencedStep::ViewOf(const SequenceCopy& copy, const TensorType& type,
                              const Node& node) {
  return Add({.target = "view",
              .inputs = {copy.values.begin()->second},
              .types = {type},
              .storages = {copy.storage},
              .phase = node.phase,
              .scope = node.scope})
      .front();
}

void SequencedStep::ScatterSum(const Node& node) {
  const ValueId sum = node.outputs.front();
  const ValueId pieces = AddLike(sum, "cat", {ValueNow(node.inputs.front())},
                                 graph().value(sum).type, node);
  copies_.push_back(builder().value(pieces).storage);
  SetValue(
      sum,
      Exchange(kReduceScatter, sum, pieces,
               {PartType(sum), StorageNow(graph().value(sum).storage)}, node));
}

void SequencedStep::PassTerm(const Node& node) {
  const ValueId term = node.inputs.front();
  const ValueId sum = node.outputs.front();
  SetValue(sum, ValueNow(term));
  SetStorage(graph().value(sum).storage,
             StorageNow(graph().value(term).storage));
}

ValueId SequencedStep::Gather(ValueId id, SharedStorage& shared,
                              const Node& node) {
  const TensorType& type = graph().value(id).type;
  const ValueId part = PartOf(id, node);
  const StorageId buffer = builder().AddStorage(
      type.Bytes(), StorageOf(id).role, StorageOf(id).label + ".gathered");
  const ValueId gathered = Exchange(kAllGather, id, part, {type, buffer}, node);
  builder().Allocate(buffer, Current());
  const ValueId whole = AddLike(id, "cat", {gathered}, type, node);
  Free(buffer);
  shared.whole.storage = builder().value(whole).storage;
  return shared.whole.values[id] = whole;
}

ValueId SequencedStep::Slice(ValueId id, ValueId whole, const Node& node) {
  const TensorType type = PartType(id);
  return AddTensor(
      {.target = "clone",
       .inputs = {whole},
       .types = {type},
       .storages = {},
       .phase = node.phase,
       .scope = node.scope,
       .attributes = {{std::string(kOwnPartAttribute), ToString(spec())}}},
      type.Bytes(), StorageOf(id).role, StorageOf(id).label + ".tokens");
}

ValueId SequencedStep::Scatter(ValueId id, ValueId whole, const Node& node) {
  const ValueId pieces =
      AddLike(id, "cat", {whole}, graph().value(id).type, node);
  const TensorType type = PartType(id);
  const StorageId result = builder().AddStorage(
      type.Bytes(), StorageOf(id).role, StorageOf(id).label + ".tokens");
  const ValueId part =
      Exchange(kReduceScatter, id, pieces, {type, result}, node);
  builder().Allocate(result, Current());
  Free(builder().value(pieces).storage);
  return part;
}

void SequencedStep::SumGradients() {
  for (const ValueId id : std::exchange(sums_, {})) {
    const Value now = builder().value(ValueNow(id));
    SetValue(id, AddCollective(kAllReduce, now.type.Bytes(),
                               {.target = {},
                                .inputs = {ValueNow(id)},
                                .types = {now.type},
                                .storages = {now.storage},
                                .phase = Phase::kBackward,
                                .strides = {now.strides}})
                     .front());
  }
}

}  // namespace foretell::parallel
