#include "src/parallel/pipeline.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "src/graph/collective.h"
#include "src/graph/storage_bytes.h"
#include "src/parallel/combined.h"
#include "src/parallel/pipeline_cut.h"
#include "src/parallel/pipeline_lives.h"
#include "src/parallel/pipeline_schedule.h"
#include "src/parallel/pipeline_transfers.h"
#include "src/parallel/step_rewriter.h"

// A pipeline, by torch.distributed.pipelining (PyTorch 2.13): each GPU has the
// blocks of its stages, with their gradients and the optimizer's state, and
// runs the passes of its schedule (pipeline_schedule.cc). Before a pass it
// receives what other stages made, afterwards it sends what others read.
//
// What lives how long (stage.py and schedules.py of
// torch.distributed.pipelining, 2.13):
//
//   received   a buffer for each micro-batch, made before the first step.
//   results    what a stage sends on stays until the stage's backward pass.
//   gradients  of what a stage received: until the next backward pass is over.
//   the rest   as without a pipeline; what lives until the next step there dies
//              when the last backward pass is over, since the schedule's step()
//              returns then. Outputs are not returned (return_outputs=False).
//
// A parameter that several stages read, as a tied embedding, is a parameter of
// each of them with a gradient and a state of its own; the exchange of its
// gradients is left out.

namespace foretell::parallel {
namespace {

class PipelineStep final : public StepRewriter {
 public:
  PipelineStep(const OperatorGraph& graph, const ParallelSpec& spec,
               const PipelineCut& cut,
               const std::vector<PipelineTransfer>& transfers,
               const StepFacts& facts, int gpu)
      : StepRewriter(graph, spec),
        actions_(ActionsOf(spec, gpu)),
        lives_(LivesOf(graph, facts, cut, spec, transfers, gpu, actions_)) {
    for (const PipelineTransfer& one : transfers) {
      if (one.to == gpu) received_.push_back(&one);
      if (one.from == gpu) sent_.push_back(&one);
    }
  }

  const std::vector<PipelineAction>& actions() const { return actions_; }
  /// The first node of each pass in the new graph.
  const std::vector<NodeId>& begins() const { return begins_; }

 private:
  std::vector<NodeId> Order() const override { return lives_.order; }

  std::optional<std::int64_t> BytesOf(StorageId id) const override {
    if (!lives_.has_storage[IndexOf(id)]) return std::nullopt;
    if (lives_.is_received[IndexOf(id)]) return ReceivedBytes(id);
    const Storage& storage = graph().storage(id);
    const bool is_input = storage.role == TensorRole::kInput;
    // The inputs of a micro-batch are a part of those of the batch.
    return storage.bytes * (is_input ? MicroBatchesOf(spec()) : 1);
  }

  std::int64_t ReceivedBytes(StorageId id) const {
    std::int64_t bytes = 0;
    for (const PipelineTransfer* one : received_) {
      if (one->storage == id) bytes = std::max(bytes, BytesIn(*one));
    }
    return bytes;
  }

  std::int64_t BytesIn(const PipelineTransfer& transfer) const {
    std::int64_t bytes = 0;
    for (const ValueId value : transfer.values) {
      bytes = std::max(bytes, graph().value(value).type.Bytes());
    }
    return bytes;
  }

  bool Keeps(const MemoryEvent& event) const override {
    if (lives_.is_received[IndexOf(event.storage)]) return false;
    return event.kind == MemoryEvent::Kind::kAllocate ||
           !lives_.is_retimed[IndexOf(event.storage)];
  }

  bool HasOperand(const Node& node, std::size_t i) const override {
    return IsHere(node.inputs[i]);
  }
  bool HasResult(const Node& node, std::size_t i) const override {
    return IsHere(node.outputs[i]);
  }
  bool IsHere(ValueId id) const {
    return lives_.has_storage[IndexOf(graph().value(id).storage)];
  }

  void Begin() override {
    for (StorageId id = 0; id < std::ssize(lives_.is_received); ++id) {
      if (lives_.is_received[IndexOf(id)]) {
        builder().Allocate(StorageNow(id), kNone);
      }
    }
  }

  void BeforeNode(NodeId /*id*/) override {
    // Actions without nodes.
    while (action_ < actions_.size() && lives_.begins[action_ + 1] <= place_) {
      ++action_;
    }
    if (action_ < actions_.size() && lives_.begins[action_] == place_) {
      begins_.push_back(builder().num_nodes());
      Receive(actions_[action_]);
    }
    for (const StorageId id : lives_.births_before[place_]) {
      builder().Allocate(StorageNow(id), Current());
    }
  }

  void AfterNode(NodeId /*id*/) override {
    if (action_ < actions_.size() && lives_.begins[action_ + 1] == place_ + 1) {
      Send(actions_[action_]);
      ++action_;
    }
    for (const StorageId id : lives_.frees_after[place_]) Free(StorageNow(id));
    ++place_;
  }

  static bool Is(const PipelineAction& a, const PipelineAction& b) {
    return a.stage == b.stage && a.micro_batch == b.micro_batch &&
           a.is_backward == b.is_backward;
  }

  Added ExchangeOf(const PipelineTransfer& one, int peer,
                   const PipelineAction& pass) const {
    return {.target = {},
            .inputs = {},
            .types = {},
            .storages = {},
            .phase = pass.is_backward ? Phase::kBackward : Phase::kForward,
            .attributes = {{std::string(kPeerAttribute), std::int64_t{peer}},
                           {std::string(kTagAttribute), one.tag}}};
  }

  void Receive(const PipelineAction& pass) {
    for (const PipelineTransfer* one : received_) {
      if (!Is(one->read, pass)) continue;
      Added added = ExchangeOf(*one, one->from, pass);
      for (const ValueId value : one->values) {
        added.types.push_back(graph().value(value).type);
        added.storages.push_back(StorageNow(one->storage));
        added.strides.push_back(graph().value(value).strides);
      }
      const std::vector<ValueId> there =
          AddCollective(kReceive, BytesIn(*one), std::move(added));
      for (std::size_t i = 0; i < there.size(); ++i) {
        SetValue(one->values[i], there[i]);
      }
    }
  }

  void Send(const PipelineAction& pass) {
    for (const PipelineTransfer* one : sent_) {
      if (!Is(one->made, pass)) continue;
      Added added = ExchangeOf(*one, one->to, pass);
      const ValueId value = one->values.front();
      added.inputs = {ValueNow(value)};
      added.types = {graph().value(value).type};
      added.storages = {StorageNow(one->storage)};
      added.strides = {graph().value(value).strides};
      AddCollective(kSend, BytesIn(*one), std::move(added));
    }
  }

  const std::vector<PipelineAction> actions_;
  const PipelineLives lives_;
  std::vector<NodeId> begins_;
  std::vector<const PipelineTransfer*> received_;
  std::vector<const PipelineTransfer*> sent_;
  std::size_t place_ = 0;   ///< In the order.
  std::size_t action_ = 0;  ///< The current one.
};

std::string BlocksOfGpu(const PipelineCut& cut, const ParallelSpec& spec,
                        int gpu) {
  std::string text;
  for (int stage = gpu; stage < StagesOf(spec); stage += spec.gpus) {
    if (!text.empty()) text += ", ";
    text += cut.blocks[IndexOf(stage)];
  }
  return text;
}

}  // namespace

OperatorGraph CutIntoStages(const OperatorGraph& graph,
                            const ParallelSpec& plan,
                            std::span<const TrainedParameter> trained) {
  const ParallelSpec spec = ModelPart(plan);
  const StepFacts facts(graph, trained);
  const PipelineCut cut = CutStep(graph, facts, spec);
  const std::vector<PipelineTransfer> transfers =
      FindTransfers(graph, facts, cut, spec);
  auto gpus = std::make_shared<std::vector<PipelineGpu>>();
  for (int gpu = 0; gpu < spec.gpus; ++gpu) {
    PipelineStep step(graph, spec, cut, transfers, facts, gpu);
    const std::int64_t in_flight = MostInFlight(step.actions());
    OperatorGraph stage = step.Rewrite();
    gpus->push_back(
        {.graph = ShareData(std::move(stage), plan, step.TrainedNow(trained),
                            step.begins()),
         .blocks = BlocksOfGpu(cut, spec, gpu),
         .in_flight = in_flight});
  }
  const auto largest = std::ranges::max_element(
      *gpus, {},
      [](const PipelineGpu& one) { return PeakOfLiveBytes(one.graph); });
  return largest->graph.InPipeline(
      gpus, static_cast<std::size_t>(largest - gpus->begin()));
}

}  // namespace foretell::parallel
