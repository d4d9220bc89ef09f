#include "foretell/trace.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/cpu/Utils.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "foretell/error.h"
#include "src/core/checked.h"
#include "src/core/failure.h"
#include "src/core/libtorch_message.h"
#include "src/core/name_table.h"
#include "src/core/text.h"
#include "src/core/units.h"
#include "src/graph/collective.h"
#include "src/graph/parallel_plan.h"
#include "src/graph/recompute_blocks.h"
#include "src/graph/repeat_run.h"
#include "src/parallel/accumulate_shards.h"
#include "src/parallel/follow_trained.h"
#include "src/parallel/offload_activations.h"
#include "src/parallel/parallelize.h"
#include "src/parallel/sharded_units.h"
#include "src/program/autocast.h"
#include "src/program/batch_counts.h"
#include "src/program/channels_last.h"
#include "src/program/context_parallel.h"
#include "src/program/embedding_weights.h"
#include "src/program/expert_parallel.h"
#include "src/program/fused_kernels.h"
#include "src/program/grad_mode.h"
#include "src/program/gradient_hook.h"
#include "src/program/lora.h"
#include "src/program/meta/meta_kernels.h"
#include "src/program/meta/torch_scope.h"
#include "src/program/named_types.h"
#include "src/program/offloaded_step.h"
#include "src/program/optimizer_step.h"
#include "src/program/quantized_layers.h"
#include "src/program/quantized_weights.h"
#include "src/program/recorder.h"
#include "src/program/storage_ledger.h"
#include "src/program/torch_state.h"
#include "src/program/train_only.h"
#include "src/program/training_loss.h"
#include "src/program/virtual_tokens.h"
#include "src/program/weight_warnings.h"
#include "src/runtime/lower.h"

namespace foretell {
namespace {

/// Steps of a training trace: in the first one gradients and optimizer state do
/// not exist yet.
constexpr int kTrainingSteps = 2;

std::int64_t BatchOf(const std::vector<BoundInput>& inputs) {
  for (const BoundInput& input : inputs) {
    if (!input.type.shape.empty()) return input.type.shape.front();
  }
  return 1;
}

/// The flag by which gradients stay longer than is modelled for stages and
/// shards; empty: none.
std::string_view FlagOfKeptGradients(const TraceOptions& options) {
  const TrainingLoop& loop = options.loop;
  if (loop.accumulation > 1 && HasStages(loop.parallel)) return "--accumulate";
  if (loop.late_zero_grad) return "--late-zero-grad";
  if (DropsGradients(loop, options.run.torch)) return "";
  return "--set-to-none off, PyTorch's default before 2.0,";
}

/// What GPUs share of a step, and of one as PyTorch writes it.
void RequireParallelFits(const TraceOptions& options) {
  const ParallelSpec& spec = options.loop.parallel;
  if (spec.kind == ParallelKind::kOneGpu) return;
  if (options.run.mode != Mode::kTraining && !SharesInference(spec)) {
    throw InvalidArgument(
        "{}: only training steps are shared by GPUs, and of inference those of "
        "tp:N, cp:N and ep:N",
        ToString(spec));
  }
  const bool divides =
      ShardsParameters(spec) || spec.kind == ParallelKind::kTensor;
  if (divides && options.run.optimizer == Optimizer::kMuon) {
    throw InvalidArgument(
        "{}: Muon multiplies whole matrices, which is not modelled with "
        "parameters that GPUs share",
        ToString(spec));
  }
  const TrainingLoop& loop = options.loop;
  if (SharesSequences(spec) && HasVirtualTokens(loop.lora)) {
    throw InvalidArgument(
        "{}: virtual tokens of --lora {} are not modelled with sequences that "
        "GPUs share",
        ToString(spec), ToString(loop.lora));
  }
  if (!ShardsParameters(spec) && !HasStages(spec)) return;
  const std::string_view flag = FlagOfKeptGradients(options);
  if (flag.empty()) return;
  throw InvalidArgument("{}: {} is not modelled with {}", ToString(spec), flag,
                        HasStages(spec) ? "a pipeline" : "sharded parameters");
}

/// Requires a trace without arithmetic, and in training something that has
/// gradients.
void RequireQuantizable(const TraceOptions& options) {
  const TrainingLoop& loop = options.loop;
  if (loop.quantize == QuantizeSpec{}) return;
  const std::string flag = "--quantize " + ToString(loop.quantize);
  if (options.device != TraceDevice::kMeta) {
    throw InvalidArgument("{}: a trace on the CPU computes with the weights",
                          flag);
  }
  if (options.run.mode == Mode::kTraining && loop.lora == LoraSpec{} &&
      loop.trainable.empty()) {
    throw InvalidArgument(
        "{}: quantized weights have no gradients; --lora trains adapters, "
        "--trainable other parameters",
        flag);
  }
}

void RequireLoopFits(const TrainingLoop& loop) {
  if (loop.optimizer_in_backward &&
      (loop.accumulation > 1 || loop.parallel != ParallelSpec{})) {
    throw InvalidArgument(
        "an optimizer that steps in the backward pass is modelled on one GPU "
        "and without accumulation of gradients");
  }
  if (loop.offload_activations && loop.parallel != ParallelSpec{}) {
    throw InvalidArgument("saved tensors on the host are modelled on one GPU");
  }
  if (loop.accumulation >= 1) return;
  throw InvalidArgument(
      "gradients of {} batches are added up, expected at least 1",
      loop.accumulation);
}

/// "lengths of the file's example: 512 of ids.1 and labels.1 …", or nothing.
std::string LengthsOfTheExample(const std::vector<BoundInput>& inputs) {
  std::map<std::string, std::vector<std::string>> places;
  std::map<std::string, std::int64_t> sizes;
  std::vector<std::string> symbols;
  for (const BoundInput& input : inputs) {
    for (const auto& [dim, symbol] : input.from_example) {
      if (places[symbol].empty()) symbols.push_back(symbol);
      places[symbol].push_back(fmt::format("{}.{}", input.name, dim));
      sizes[symbol] = input.type.shape.at(dim);
    }
  }
  if (symbols.empty()) return "";
  std::vector<std::string> texts;
  for (const std::string& symbol : symbols) {
    texts.push_back(fmt::format("{} = {} ({})", symbol, sizes[symbol],
                                Joined(places[symbol])));
  }
  return fmt::format(
      "sizes are those of the file's example where no flag gives others: {}; "
      "--dim {}=N gives one",
      Joined(texts), symbols.back());
}

std::string PagedWarning(std::int64_t bytes) {
  return fmt::format(
      "{:.1f} MiB of optimizer states are paged: they lie in unified memory, "
      "on "
      "the GPU only while it has room, and count neither as memory nor in time",
      ToMiB(bytes));
}

/// Of an optimizer there, and of what goes there and comes back.
std::string HostWarning(std::int64_t optimizer_bytes,
                        std::int64_t saved_bytes) {
  std::vector<std::string> parts;
  const auto add = [&parts](std::int64_t bytes, std::string_view what) {
    if (bytes == 0) return;
    parts.push_back(fmt::format("{:.1f} MiB of {}", ToMiB(bytes), what));
  };
  add(optimizer_bytes, "parameters, gradients and optimizer states");
  add(saved_bytes, "saved tensors");
  if (parts.empty()) return "";
  return "the host needs memory for " + Joined(parts, " and ");
}

/// Bytes of one pass that go to the host.
std::int64_t SentToHost(const OperatorGraph& graph) {
  std::int64_t most = 0;
  std::int64_t sum = 0;
  for (const Node& node : graph.nodes()) {
    if (node.phase != Phase::kForward) {
      most = std::max(most, std::exchange(sum, 0));
    } else if (node.target == kToHost) {
      sum += node.Int(kBytesAttribute, 0);
    }
  }
  return most;
}

/// Bytes that the host keeps for its optimizer: what it steps, else all shards
/// that it sends, with gradients and states.
std::int64_t HeldByHost(const OperatorGraph& graph) {
  if (graph.info().mode != Mode::kTraining) return 0;
  std::int64_t shards = 0;
  std::int64_t stepped = 0;
  std::int64_t states = 0;
  for (const Node& node : graph.nodes()) {
    if (node.target == kFromHost && node.phase == Phase::kForward) {
      shards += graph.value(node.outputs.front()).type.Bytes();
    }
    if (node.target != kStepOnHost) continue;
    const std::int64_t bytes = node.Int(
        kBytesAttribute, graph.value(node.inputs.front()).type.Bytes());
    stepped += bytes;
    states += (1 + node.Int(kStatesAttribute, 0)) * bytes;
  }
  return std::max(shards, stepped) + states;
}

StepCode CodeOf(const TrainingLoop& loop, const TorchVersion& torch) {
  if (loop.fused) return StepCode::kFused;
  return UpdatesLists(loop, torch) ? StepCode::kLists : StepCode::kOneByOne;
}

/// The step as one forward and backward pass of it runs: a pipeline's on the
/// largest of a batch's parts (Tensor.tensor_split), of which there are no more
/// than samples, and that of shared sequences on one GPU's tokens.
struct TracedStep {
  std::vector<BoundInput> inputs;
  TraceOptions options;
  std::int64_t batch = 1;  ///< Of the whole step.
  std::string kept = {};   ///< Weight of the last layer, not in 8 bits.
};

TracedStep SplitBatch(const std::vector<BoundInput>& inputs,
                      const TraceOptions& options) {
  TracedStep step{OwnTokens(inputs, options.loop.parallel), options,
                  BatchOf(inputs)};
  ParallelSpec& spec = step.options.loop.parallel;
  if (!HasStages(spec)) return step;
  const std::int64_t parts =
      std::clamp<std::int64_t>(step.batch, 1, MicroBatchesOf(spec));
  spec.micro_batches = static_cast<int>(parts);
  step.options.loop.accumulation = spec.micro_batches;
  for (BoundInput& input : step.inputs) {
    if (input.type.shape.empty() || !input.values.empty()) continue;
    std::int64_t& length = input.type.shape.front();
    if (length == step.batch) length = CeilDiv(length, parts);
  }
  return step;
}

/// A program, its inputs and its recorder while they are being traced.
class Tracer {
 public:
  /// `quantized`: names of the parameters that options.loop.quantize is for.
  /// `places`: of the virtual tokens of options.loop.lora.
  Tracer(const Program& program, const TracedStep& step,
         std::set<std::string> quantized,
         std::optional<PromptPlaces> places = {})
      : program_(program),
        inputs_(step.inputs),
        options_(step.options),
        batch_(step.batch),
        quantized_names_(std::move(quantized)),
        places_(std::move(places)),
        precision_(UncastPrecision(step.options.run)),
        device_(step.options.device == TraceDevice::kMeta ? at::kMeta
                                                          : at::kCPU),
        recorder_(Info(), device_) {
    MakeInstance();
    for (const NamedTensor& parameter : instance_->Parameters()) {
      if (parameter.name == step.kept) FusedKernelScope::Keep(parameter.tensor);
    }
    MakeInputs();
  }

  Trace Run() {
    try {
      return RunUnwrapped();
    } catch (const Error& error) {
      const std::string lengths = LengthsOfTheExample(inputs_);
      if (error.code() == ErrorCode::kInvalidArgument && !lengths.empty() &&
          HasGivenSize()) {
        throw Error(error.code(), fmt::format("{}; {}", error.what(), lengths));
      }
      if (error.code() != ErrorCode::kUnsupported || device_ != at::kMeta) {
        throw;
      }
      throw Error(error.code(), error.what() + Others(error.what()));
    }
  }

 private:
  Trace RunUnwrapped() {
    try {
      if (options_.run.mode == Mode::kTraining) return Train();
      return options_.run.grad_mode ? InferWithGradMode() : Infer();
    } catch (const Error&) {
      throw;
    } catch (const std::exception&) {
      // LibTorch may have wrapped what the recorder threw.
      recorder_.RethrowFailure();
      throw;
    }
  }

  /// Whether a size that the file leaves open differs from that of its example,
  /// with which the network ran.
  bool HasGivenSize() const {
    for (const InputSpec& spec : program_.inputs()) {
      const auto bound =
          std::ranges::find(inputs_, spec.name, &BoundInput::name);
      if (bound == inputs_.end() || !spec.dims) continue;
      for (std::size_t i = 0; i < spec.dims->size(); ++i) {
        const bool is_open = !(*spec.dims)[i].symbol.empty();
        if (is_open && !bound->from_example.contains(i)) return true;
      }
    }
    return false;
  }

  /// "; a trace … may refuse in this file, too: a, b", or nothing when
  /// `message` names them all.
  std::string Others(std::string_view message) const {
    std::vector<std::string> others = instance_->UntraceableOperators();
    std::erase_if(others, [&](const std::string& name) {
      return message.find(name) != std::string_view::npos;
    });
    if (others.empty()) return "";
    return "; a trace without arithmetic may refuse in this file, too: " +
           Joined(others);
  }

  Trace Infer() {
    const c10::InferenceMode inference;
    if (options_.run.autocast) RequireGradients(*instance_);
    return Finish(LastPass());
  }

  /// Ends with the results alive, and with what autograd keeps for as long as
  /// they are.
  Trace InferWithGradMode() {
    const at::AutoGradMode records(true);
    RequireGradients(*instance_);
    const std::vector<at::Tensor> outputs = LastPass();
    recorder_.ChangeRoleOfLiving(TensorRole::kActivation, TensorRole::kSaved);
    return Finish(outputs);
  }

  /// Results of the only pass, or of the one after the pass whose results live
  /// until then (keep_result).
  std::vector<at::Tensor> LastPass() {
    Enter(Phase::kForward, TensorRole::kActivation);
    std::vector<at::Tensor> outputs;
    if (options_.loop.keep_result) {
      recorder_.RecordNodes(false);
      outputs = Forward();
      recorder_.ChangeRoleOfLiving(TensorRole::kActivation, TensorRole::kSaved);
      recorder_.RecordNodes(true);
    }
    outputs = Forward();
    return outputs;
  }

  std::vector<at::Tensor> Forward() {
    std::optional<AutocastRegion> region;
    Begin(region);
    std::vector<at::Tensor> outputs = instance_->Forward(tensors_);
    recorder_.ReturnFromCalls();
    return outputs;
  }

  /// As in `for …: out = model(x)`, the results of a step live until those of
  /// the next are there, unless a function of the loop's returns before.
  Trace Train() {
    ChooseTrained();
    // With its steps in the backward pass it finds no gradients afterwards.
    std::vector<at::Tensor> stepped = TrainableTensors();
    const std::vector<GradientHook> sends = SendsToHost(stepped);
    OptimizerStep optimizer = OptimizerOf(std::move(stepped));
    const std::vector<GradientHook> hooks = StepsInBackward();
    std::vector<at::Tensor> outputs;
    for (int step = 0; step < kTrainingSteps; ++step) {
      const bool is_last = step == kTrainingSteps - 1;
      recorder_.RecordNodes(is_last || recomputes());
      if (is_last) first_node_ = recorder_.num_nodes();
      if (!ClearsLate()) Clear(optimizer);
      batch_starts_.clear();
      for (int batch = 0; batch < TracedBatches(); ++batch) {
        batch_starts_.push_back(recorder_.num_nodes());
        const bool clears = ClearsLate() && batch == 0;
        marks_results_ = is_last && batch + 1 == TracedBatches();
        ForwardAndBackward(outputs, clears ? &optimizer : nullptr);
      }
      batch_starts_.push_back(recorder_.num_nodes());
      Step(optimizer);
      if (options_.loop.step_in_function) Return(outputs);
    }
    if (adapters_) adapters_->RequireUse();
    return Finish(outputs);
  }

  OptimizerStep OptimizerOf(std::vector<at::Tensor> parameters) const {
    return {options_.run.optimizer, std::move(parameters),
            CodeOf(options_.loop, options_.run.torch), options_.run.torch};
  }

  void Step(OptimizerStep& optimizer) {
    Enter(Phase::kOptimizer, TensorRole::kOptimizerTemporary);
    paged_bytes_ -= optimizer.paged_bytes();
    optimizer.SetTables(tables_);
    optimizer.Step();
    if (offloaded_) offloaded_->Step();
    paged_bytes_ += optimizer.paged_bytes();
    recorder_.ChangeRoleOfLiving(TensorRole::kOptimizerTemporary,
                                 TensorRole::kOptimizerState);
  }

  /// Empty unless the loop has its optimizer there.
  std::vector<GradientHook> StepsInBackward() {
    std::vector<GradientHook> hooks;
    if (!options_.loop.optimizer_in_backward) return hooks;
    for (const at::Tensor& parameter : TrainableTensors()) {
      const auto own =
          std::make_shared<OptimizerStep>(OptimizerOf({parameter}));
      hooks.emplace_back(parameter, [this, own, parameter] {
        NoteGradient(parameter);
        Step(*own);
        own->ZeroGrad();
        Enter(Phase::kBackward, TensorRole::kBackwardTemporary);
      });
    }
    return hooks;
  }

  /// Takes the parameters that the host steps off `stepped`.
  std::vector<GradientHook> SendsToHost(std::vector<at::Tensor>& stepped) {
    std::vector<GradientHook> hooks;
    const TrainingLoop& loop = options_.loop;
    if (loop.offload_optimizer.empty()) return hooks;
    offloaded_.emplace(loop, options_.run.optimizer);
    offloaded_->Take(stepped);
    for (const at::Tensor& parameter : offloaded_->parameters()) {
      hooks.emplace_back(parameter, [this, parameter] {
        NoteGradient(parameter);
        offloaded_->SendGradient(parameter);
      });
    }
    return hooks;
  }

  void NoteGradient(const at::Tensor& parameter) {
    const at::Tensor& gradient = parameter.grad();
    if (!gradient.defined()) return;
    recorder_.SetRoleOf(gradient, TensorRole::kGradient);
    trained_.push_back({.parameter = recorder_.StorageOf(parameter),
                        .gradient = recorder_.StorageOf(gradient)});
  }

  bool AccumulatesShards() const {
    const ParallelSpec& spec = options_.loop.parallel;
    return ShardsParameters(spec) && !HasStages(spec);
  }
  int TracedBatches() const {
    return AccumulatesShards()
               ? 1
               : std::min(options_.loop.accumulation, kTracedBatches);
  }

  OperatorGraph WithFurtherBatches(OperatorGraph graph) const {
    const int batches = options_.loop.accumulation;
    if (!trains() || AccumulatesShards() || batches <= kTracedBatches) {
      return graph;
    }
    return AddBatches(graph,
                      {.previous = batch_starts_[1],
                       .last = batch_starts_[2],
                       .end = batch_starts_[3]},
                      batches);
  }

  void ChooseTrained() {
    const TrainingLoop& loop = options_.loop;
    if (!loop.trainable.empty()) TrainOnly(loop.trainable, *instance_);
    if (loop.lora == LoraSpec{}) return;
    const UnrecordedScope unrecorded(TensorRole::kParameter);
    const bool keeps_trained = !loop.trainable.empty();
    if (places_) {
      tokens_.emplace(loop.lora, *places_, *instance_, keeps_trained);
    } else {
      adapters_.emplace(loop.lora, *instance_, keeps_trained);
    }
    std::int64_t elements = program_.parameter_elements();
    for (const NamedTensor& parameter : AddedParameters()) {
      recorder_.AddSource(parameter.name, parameter.tensor);
      elements += parameter.tensor.numel();
    }
    recorder_.SetParameterElements(elements);
  }

  /// Those of adapters or of virtual tokens.
  std::vector<NamedTensor> AddedParameters() const {
    if (tokens_) return tokens_->parameters();
    if (adapters_) return adapters_->parameters();
    return {};
  }

  bool trains() const { return options_.run.mode == Mode::kTraining; }

  bool NeedsGradient(const at::Tensor& input) const {
    return trains() && options_.loop.input_grad &&
           at::isFloatingType(input.scalar_type());
  }

  bool IsCompiled() const {
    return options_.run.runtime.runtime == Runtime::kCompile;
  }

  /// Whether blocks are computed again here; torch.compile's partition does it
  /// for a compiled step (Compiled).
  bool recomputes() const {
    return !options_.loop.recompute.empty() && !IsCompiled();
  }

  /// Gradients in DDP's buckets live on at any rate.
  bool ClearsLate() const {
    return options_.loop.late_zero_grad && !options_.loop.parallel.bucket_view;
  }

  void Clear(OptimizerStep& optimizer) {
    if (offloaded_) offloaded_->ZeroGrad();
    if (DropsGradients(options_.loop, options_.run.torch)) {
      return optimizer.ZeroGrad();
    }
    Enter(Phase::kOptimizer, TensorRole::kOptimizerTemporary);
    optimizer.FillGradWithZeros();
  }

  GraphInfo Info() const {
    GraphInfo info{.name = program_.name(),
                   .mode = options_.run.mode,
                   .precision = precision_,
                   .batch = batch_,
                   .autocast = AutocastType(options_.run),
                   .grad_mode = options_.run.grad_mode,
                   .channels_last = options_.run.channels_last};
    if (options_.run.mode == Mode::kTraining) {
      info.optimizer = OptimizerName(options_.run.optimizer);
    }
    return info;
  }

  void MakeInstance() {
    const UnrecordedScope unrecorded(TensorRole::kParameter);
    recorder_.SetRole(TensorRole::kParameter);
    {
      // What is quantized never was on the GPU; AddSource makes the others.
      std::optional<UnlistenedScope> unlistened;
      if (!quantized_names_.empty()) unlistened.emplace();
      instance_ = program_.Instantiate({.device = at::Device(device_),
                                        .precision = precision_,
                                        .mode = options_.run.mode,
                                        .seed = options_.seed,
                                        .inputs = NamesOf(inputs_)});
    }
    if (!quantized_names_.empty()) Quantize();
    if (options_.run.channels_last) ToChannelsLast(*instance_);
    if (trains() && options_.loop.lora.kbit) {
      CastHalfParameters(*instance_, quantized_ ? &*quantized_ : nullptr);
    }
    for (const NamedTensor& parameter : instance_->Parameters()) {
      if (quantized_ && quantized_->Has(parameter.tensor)) continue;
      recorder_.AddSource(parameter.name, parameter.tensor);
      // Those of a frozen file are older than the recording.
      recorder_.SetRoleOf(parameter.tensor, TensorRole::kParameter);
    }
    for (const NamedTensor& buffer : instance_->Buffers()) {
      recorder_.AddSource(buffer.name, buffer.tensor);
      recorder_.SetRoleOf(buffer.tensor, TensorRole::kBuffer);
    }
    if (trains()) counts_.emplace(instance_->Buffers());
    recorder_.SetParameterElements(program_.parameter_elements());
    recorder_.RedirectDevices(instance_->NamesDevices());
    recorder_.SetScope([this] { return instance_->CurrentScope(); });
    recorder_.SetCalls([this] { return instance_->CurrentCalls(); });
  }

  void Quantize() {
    const std::optional<DType> cast = AutocastType(options_.run);
    quantized_.emplace(
        options_.loop.quantize, quantized_names_, *instance_,
        cast ? std::optional(ToScalarType(*cast)) : std::nullopt);
    if (HoldsLoss()) quantized_->HoldInputs();
    for (const NamedTensor& part : quantized_->parts()) {
      recorder_.AddSource(part.name, part.tensor);
    }
  }

  void MakeInputs() {
    const UnrecordedScope unrecorded(TensorRole::kInput);
    for (const BoundInput& input : inputs_) {
      if (!input.values.empty()) {
        tensors_.push_back(GivenTensor(input));
        recorder_.ExpectHostTensors();
        continue;
      }
      tensors_.push_back(MakeInput(input));
      if (options_.run.channels_last) ToChannelsLast(tensors_.back());
      tensors_.back().set_requires_grad(NeedsGradient(tensors_.back()));
      recorder_.AddSource(input.name, tensors_.back());
      recorder_.MarkInput(tensors_.back());
    }
  }

  /// Floating-point numbers are drawn. Whole ones are the same everywhere, and
  /// not 0: as lengths and counts they are valid, as flags and masks they leave
  /// nothing out, as classes or words they are below any number of them.
  at::Tensor MakeInput(const BoundInput& input) const {
    const TensorType& type = input.type;
    const at::ScalarType scalar = ToScalarType(type.dtype, precision_);
    const auto options = at::TensorOptions().dtype(scalar).device(device_);
    if (device_ == at::kMeta) return at::empty(type.shape, options);
    const bool is_drawn =
        at::isFloatingType(scalar) || at::isComplexType(scalar);
    return is_drawn ? at::randn(type.shape, options)
                    : at::full(type.shape, input.fill, options);
  }

  void Enter(Phase phase, TensorRole role) {
    recorder_.SetPhase(phase);
    recorder_.SetRole(role);
  }

  /// Those of the program, then those of its adapters.
  std::vector<at::Tensor> TrainableTensors() const {
    std::vector<NamedTensor> parameters = instance_->Parameters();
    const std::vector<NamedTensor> added = AddedParameters();
    parameters.insert(parameters.end(), added.begin(), added.end());
    std::vector<at::Tensor> tensors;
    for (const NamedTensor& parameter : parameters) {
      if (parameter.tensor.requires_grad()) tensors.push_back(parameter.tensor);
    }
    return tensors;
  }

  /// Begins autocast where it is wanted.
  void Begin(std::optional<AutocastRegion>& region) const {
    const std::optional<DType> dtype = AutocastType(options_.run);
    if (!dtype) return;
    region.emplace(
        device_,
        AutocastMode{.dtype = ToScalarType(*dtype),
                     .half_group_norm = options_.run.half_group_norm,
                     .half_layer_norm = options_.run.half_layer_norm,
                     .half_upsampling = options_.run.torch < kFloatUpsampling});
  }

  at::Tensor ForwardAndLoss(std::vector<at::Tensor>& outputs) {
    std::optional<AutocastRegion> region;
    Begin(region);
    outputs = instance_->Forward(tensors_);
    recorder_.ReturnFromCalls();
    NamedLoss loss = LossOf(*instance_, tensors_, outputs);
    loss_ = std::move(loss.name);
    return loss.value;
  }

  /// A plain loop's variable holds the last loss until the next one is there,
  /// which matters where the loss's history keeps inputs of 4-bit layers. Under
  /// checkpoints they are taken to go with their block.
  bool HoldsLoss() const {
    return options_.loop.quantize.keeps_input &&
           !options_.loop.loss_in_function && !recomputes();
  }

  /// `cleared`: the optimizer whose gradients are cleared in between, or null.
  void ForwardAndBackward(std::vector<at::Tensor>& outputs,
                          OptimizerStep* cleared) {
    DropInputGradients();
    Enter(Phase::kForward, TensorRole::kActivation);
    const at::Tensor loss = ForwardAndLoss(outputs);
    held_loss_ = HoldsLoss() ? loss : at::Tensor();
    if (tokens_) tokens_->EndForward();
    if (options_.loop.loss_in_function) {
      if (AutocastType(options_.run)) ConvertToFloat(outputs);
      Return(outputs);
    }
    recorder_.ChangeRoleOfLiving(TensorRole::kActivation, TensorRole::kSaved);
    if (cleared != nullptr) Clear(*cleared);
    Enter(Phase::kBackward, TensorRole::kBackwardTemporary);
    tables_ = EmbeddingWeights(loss);
    trained_.clear();
    if (loss.requires_grad()) loss.backward();
    for (const at::Tensor& input : tensors_) {
      if (!input.requires_grad() || !input.grad().defined()) continue;
      recorder_.SetRoleOf(input.grad(), TensorRole::kGradient);
    }
    for (const at::Tensor& parameter : TrainableTensors()) {
      NoteGradient(parameter);
    }
  }

  /// What accelerate's ConvertOutputsToFp32 (utils/operations.py), around every
  /// network of transformers' Trainer under autocast, does with results.
  static void ConvertToFloat(std::vector<at::Tensor>& outputs) {
    std::vector<at::Tensor> converted;
    for (const at::Tensor& output : outputs) {
      const bool is_half = at::isReducedFloatingType(output.scalar_type());
      converted.push_back(is_half ? output.to(at::kFloat) : output);
    }
    outputs = std::move(converted);
  }

  /// The results of the program die, as those of a function that returns.
  void Return(std::vector<at::Tensor>& outputs) {
    if (outputs.empty()) return;
    if (marks_results_) results_ = MarkOutputs(outputs);
    outputs.clear();
  }

  /// Each batch has inputs of its own, without a gradient.
  void DropInputGradients() const {
    for (const at::Tensor& input : tensors_) {
      if (input.requires_grad()) input.mutable_grad().reset();
    }
  }

  Trace Finish(const std::vector<at::Tensor>& outputs) {
    std::vector<TraceOutput> results =
        outputs.empty() ? std::move(results_) : MarkOutputs(outputs);
    std::vector<std::string> warnings = WarningsOfRun();
    OperatorGraph graph = Rewritten(WithFurtherBatches(recorder_.Finish()));
    std::string host = HostWarning(HeldByHost(graph), SentToHost(graph));
    if (!host.empty()) warnings.push_back(std::move(host));
    for (std::string& warning : GradModeWarnings(graph)) {
      warnings.push_back(std::move(warning));
    }
    return {.graph = std::move(graph),
            .inputs = inputs_,
            .outputs = std::move(results),
            .warnings = std::move(warnings),
            .loss = std::move(loss_)};
  }

  /// Of the program, and of what the recorder has seen.
  std::vector<std::string> WarningsOfRun() {
    std::vector<std::string> warnings = program_.warnings(options_.run.mode);
    std::string lengths = LengthsOfTheExample(inputs_);
    if (!lengths.empty()) warnings.push_back(std::move(lengths));
    for (std::string& warning :
         WeightWarnings(program_.weight_elements(), precision_,
                        options_.chose_precision)) {
      warnings.push_back(std::move(warning));
    }
    if (program_.stated_dtype() && !options_.chose_precision) {
      std::string hint = PrecisionHint(*program_.stated_dtype(), options_.run);
      if (!hint.empty()) warnings.push_back(std::move(hint));
    }
    for (const std::string& name : recorder_.fallbacks()) {
      warnings.push_back(name +
                         " has no meta kernel: it was run on the CPU for "
                         "its shapes");
    }
    if (!recorder_.made_on_host().empty()) {
      warnings.push_back(fmt::format(
          "tensors made without a device ({}) are taken as made on the GPU; "
          "PyTorch makes them on the CPU and stops where they meet the GPU's",
          Joined(recorder_.made_on_host())));
    }
    if (!recorder_.decided_by_data().empty()) {
      warnings.push_back(
          fmt::format("the content of random data decided sizes or branches "
                      "({}): other data would give other figures; --value "
                      "NAME=… gives the content of an input of whole numbers",
                      Joined(recorder_.decided_by_data())));
    }
    if (options_.run.mode == Mode::kTraining && trained_.empty()) {
      warnings.push_back(WhyNothingIsTrained(TrainableTensors().size()));
    }
    if (paged_bytes_ > 0) warnings.push_back(PagedWarning(paged_bytes_));
    return warnings;
  }

  /// The recorded step as the plan, the offloading and the runtime of the
  /// options change it.
  OperatorGraph Rewritten(OperatorGraph graph) {
    if (trains() && recomputes()) {
      graph = RecomputeBlocks(graph, options_.loop.recompute, first_node_);
    }
    if (IsCompiled()) graph = Compiled(graph);
    graph = parallel::Parallelize(graph, options_.loop.parallel, trained_);
    if (trains() && AccumulatesShards()) {
      graph = parallel::AccumulateShards(graph, options_.loop.accumulation,
                                         options_.loop.parallel.no_sync);
    }
    if (options_.loop.offload_activations && trains()) {
      graph = parallel::OffloadActivations(graph);
    }
    if (!IsCompiled()) {
      graph = runtime::Lower(graph, SpecOfSession(), options_.run.torch);
    }
    return graph;
  }

  /// Before Parallelize: hooks of DDP run outside of what is compiled, those of
  /// FSDP break the graph.
  OperatorGraph Compiled(const OperatorGraph& step) {
    const ParallelSpec& plan = options_.loop.parallel;
    RuntimeSpec spec = options_.run.runtime;
    if (ShardsParameters(plan)) {
      for (std::string& path : parallel::BlockPaths(step, plan)) {
        spec.breaks.push_back(std::move(path));
      }
    }
    OperatorGraph compiled =
        runtime::Lower(step, spec, options_.run.torch,
                       trains() ? options_.loop.recompute : std::string());
    if (plan.kind != ParallelKind::kOneGpu) {
      trained_ = parallel::FollowTrained(step, compiled, trained_);
    }
    return compiled;
  }

  /// The runtime with what an ONNX file itself tells it of sizes. An export of
  /// another file may name them.
  RuntimeSpec SpecOfSession() const {
    RuntimeSpec spec = options_.run.runtime;
    if (spec.runtime == Runtime::kOnnxRuntime && program_.format() == "onnx") {
      spec.overrides = spec.overrides || FixesSizes(program_.inputs());
    }
    return spec;
  }

  std::vector<TraceOutput> MarkOutputs(const std::vector<at::Tensor>& outputs) {
    std::vector<std::string> names = instance_->OutputNames();
    names.resize(outputs.size());
    std::vector<TraceOutput> results;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const at::Tensor& output = outputs[i];
      if (!output.defined()) continue;
      const bool on_host = !recorder_.BelongsToTrace(output);
      if (!on_host) recorder_.MarkOutput(output);
      results.push_back(
          {.name = names[i].empty() ? fmt::format("output{}", i)
                                    : std::move(names[i]),
           .type = {ToDType(output.scalar_type()), output.sizes().vec()},
           .on_host = on_host});
    }
    return results;
  }

  const Program& program_;
  const std::vector<BoundInput>& inputs_;
  const TraceOptions& options_;
  const std::int64_t batch_;
  const std::set<std::string> quantized_names_;
  const std::optional<PromptPlaces> places_;
  const Precision precision_;  ///< Of what autocast leaves alone.
  c10::DeviceType device_;
  // Before all tensors, so that it outlives them when a run throws.
  Recorder recorder_;
  std::unique_ptr<ProgramInstance> instance_;
  std::optional<BatchCounts> counts_;
  std::vector<at::Tensor> tensors_;
  std::optional<QuantizedWeights> quantized_;
  std::optional<LoraAdapters> adapters_;
  std::optional<VirtualTokens> tokens_;  ///< Instead of adapters.
  std::optional<OffloadedStep> offloaded_;
  std::vector<at::Tensor> tables_;    ///< Weights of embeddings.
  at::Tensor held_loss_;              ///< Of the last batch, if HoldsLoss.
  std::int64_t paged_bytes_ = 0;      ///< Of optimizer states.
  std::string loss_;                  ///< Its name.
  bool marks_results_ = false;        ///< In the last batch of all.
  std::vector<TraceOutput> results_;  ///< If they die before the end.
  std::vector<NodeId> batch_starts_;  ///< In the last step, and the end.
  NodeId first_node_ = 0;             ///< Of the last step.
  std::vector<parallel::TrainedParameter> trained_;  ///< In the last step.
};

/// A forward pass without options.loop and gradients. Its products read the
/// matrices themselves, not their casts.
OperatorGraph PlainPass(const Program& program,
                        const std::vector<BoundInput>& inputs,
                        const TraceOptions& options) {
  TraceOptions plain = options;
  plain.loop = {};
  plain.run.mode = Mode::kInference;
  plain.run.grad_mode = false;
  plain.run.precision = UncastPrecision(options.run);
  plain.run.autocast = false;
  return Tracer(program, SplitBatch(inputs, plain), {}).Run().graph;
}

/// Names of the parameters that a trace with `options` quantizes, from a
/// forward pass without it.
std::set<std::string> NamesToQuantize(const Program& program,
                                      const std::vector<BoundInput>& inputs,
                                      const TraceOptions& options) {
  if (options.loop.quantize == QuantizeSpec{}) return {};
  return LayersToQuantize(PlainPass(program, inputs, options),
                          options.loop.quantize);
}

/// Where the virtual tokens of a training step with `options` go; empty without
/// them.
std::optional<PromptPlaces> PlacesOfTokens(
    const Program& program, const std::vector<BoundInput>& inputs,
    const TraceOptions& options) {
  const LoraSpec& lora = options.loop.lora;
  const bool trains = options.run.mode == Mode::kTraining;
  if (!trains || !HasVirtualTokens(lora)) return std::nullopt;
  if (lora.method == AdapterMethod::kPrefix &&
      !options.loop.recompute.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("--lora {}: PEFT refuses prefix tuning with "
                            "checkpointed blocks",
                            ToString(lora)));
  }
  return PromptPlacesOf(PlainPass(program, inputs, options), lora);
}

}  // namespace

void InitializeTracing() {
  static std::once_flag once;
  std::call_once(once, [] {
    at::set_num_threads(1);
    // Reads files of /proc and /sys once, which a locked process cannot.
    at::cpu::is_avx512_vnni_supported();
    // Seeds itself from a file of the system: not where none can be opened.
    at::detail::getDefaultCPUGenerator();
    RegisterMetaKernels();
    InstallRecorderHook();
    InstallLedgerAllocators();
    AutocastRegion::Install();
  });
}

std::optional<Trace> Program::Source::TraceElsewhere(
    const Program& /*program*/, const std::vector<BoundInput>& /*inputs*/,
    const TraceOptions& /*options*/) const {
  return std::nullopt;
}

std::unique_ptr<ProgramInstance> Program::Instantiate(
    const InstanceOptions& options) const {
  if (!options.device.is_meta()) at::manual_seed(options.seed);
  return source_->Instantiate(options);
}

std::optional<Trace> Program::TraceElsewhere(
    const std::vector<BoundInput>& inputs, const TraceOptions& options) const {
  return source_->TraceElsewhere(*this, inputs, options);
}

namespace {

Trace TraceOnce(const Program& program, const std::vector<BoundInput>& inputs,
                const TraceOptions& options) {
  const TorchStateScope state;
  const TorchScope torch(options.run.torch);
  try {
    RequireLoopFits(options.loop);
    RequireParallelFits(options);
    RequireQuantizable(options);
    const std::set<std::string> quantized =
        NamesToQuantize(program, inputs, options);
    const std::optional<PromptPlaces> places =
        PlacesOfTokens(program, inputs, options);
    const std::string kept =
        KeepsLastLayer(options.loop)
            ? LastLayer(PlainPass(program, inputs, options))
            : "";
    const FusedKernelScope kernels(options);
    const ContextParallelScope context(options);
    const ExpertParallelScope experts(options);
    TracedStep step = SplitBatch(
        places ? WithVirtualTokens(inputs, *places, options.loop.lora) : inputs,
        options);
    step.kept = kept;
    Trace trace = Tracer(program, step, quantized, places).Run();
    trace.inputs = inputs;
    kernels.RequireUse();
    context.RequireUse();
    experts.RequireUse();
    return trace;
  } catch (const Error& error) {
    const bool named =
        std::string_view(error.what()).starts_with(program.name());
    throw named ? error : WithContext(program.name(), error);
  } catch (const c10::NotImplementedError& error) {
    throw Unsupported("{}: {}", program.name(),
                      LibTorchMessage(error.what_without_backtrace()));
  } catch (const c10::Error& error) {
    throw InvalidArgument("{}: {}", program.name(),
                          LibTorchMessage(error.what_without_backtrace()));
  } catch (const std::bad_alloc&) {
    throw Unsupported("{}: tracing it needs more memory than it may have",
                      program.name());
  } catch (const std::exception& error) {
    throw InvalidArgument("{}: {}", program.name(),
                          LibTorchMessage(error.what()));
  }
}

/// Whether a run in 16 bits may have failed because the file names types that
/// its code takes from tensors.
bool MayNameTypes(const Program& program, const TraceOptions& options,
                  const Error& error) {
  return error.code() == ErrorCode::kInvalidArgument &&
         program.format() == "exported" &&
         CastsWeights(UncastPrecision(options.run));
}

/// A trace in which they follow the run; empty if that fails, too.
std::optional<Trace> TraceWithFollowingTypes(
    const Program& program, const std::vector<BoundInput>& inputs,
    const TraceOptions& options) {
  try {
    const NamedTypesScope follow;
    Trace trace = TraceOnce(program, inputs, options);
    trace.warnings.push_back(fmt::format(
        "tensors that the file makes as floats, or casts integers to, are "
        "taken for {}, as code like x.to(y.dtype) makes them: the network does "
        "not run in {} otherwise",
        PrecisionName(options.run.precision),
        PrecisionName(options.run.precision)));
    return trace;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

Trace TraceProgram(const Program& program,
                   const std::vector<BoundInput>& inputs,
                   const TraceOptions& options) {
  InitializeTracing();
  if (auto trace = program.TraceElsewhere(inputs, options)) {
    return std::move(*trace);
  }
  try {
    return TraceOnce(program, inputs, options);
  } catch (const Error& error) {
    if (!MayNameTypes(program, options, error)) throw;
    if (auto trace = TraceWithFollowingTypes(program, inputs, options)) {
      return std::move(*trace);
    }
    throw;
  }
}

}  // namespace foretell
