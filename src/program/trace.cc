#include "foretell/trace.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <ATen/cpu/Utils.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <utility>

#include "foretell/error.h"
#include "src/core/libtorch_message.h"
#include "src/core/name_table.h"
#include "src/core/text.h"
#include "src/graph/recompute_blocks.h"
#include "src/parallel/parallelize.h"
#include "src/program/autocast.h"
#include "src/program/grad_mode.h"
#include "src/program/lora.h"
#include "src/program/meta/meta_kernels.h"
#include "src/program/meta/torch_scope.h"
#include "src/program/optimizer_step.h"
#include "src/program/recorder.h"
#include "src/program/torch_state.h"
#include "src/program/train_only.h"
#include "src/program/training_loss.h"
#include "src/program/weight_warnings.h"

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

void RequireAutocastFits(const TraceOptions& options) {
  if (!options.autocast) return;
  const DType dtype = *options.autocast;
  if (dtype != DType::kF16 && dtype != DType::kBF16) {
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("autocast to {}, expected f16 or bf16", DTypeName(dtype)));
  }
  if (options.precision != Precision::kFp32 &&
      options.precision != Precision::kTf32) {
    throw Error(ErrorCode::kInvalidArgument,
                "autocast casts parameters in fp32 or tf32, not in " +
                    std::string(PrecisionName(options.precision)));
  }
}

/// What GPUs share of a step, and of one as PyTorch writes it.
void RequireParallelFits(const TraceOptions& options) {
  const ParallelSpec& spec = options.loop.parallel;
  if (spec.kind == ParallelKind::kOneGpu) return;
  if (options.mode != Mode::kTraining && !SharesInference(spec)) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: only training steps are shared by GPUs, and "
                            "of inference those of tp:N",
                            ToString(spec)));
  }
  const bool shards =
      spec.kind == ParallelKind::kZero2 || spec.kind == ParallelKind::kFsdp;
  if (!shards) return;
  if (options.loop.accumulation > 1 || !options.loop.set_to_none) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("{}: gradients that are added up over batches, or "
                            "filled with zeros, are not modelled with sharded "
                            "parameters",
                            ToString(spec)));
  }
}

void RequireLoopFits(const TrainingLoop& loop) {
  if (loop.lora != LoraSpec{} && !loop.trainable.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("LoRA freezes what '{}' names: one of the two",
                            loop.trainable));
  }
  if (loop.accumulation >= 1) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("gradients of {} batches are added up, expected at "
                          "least 1",
                          loop.accumulation));
}

StepCode CodeOf(const TrainingLoop& loop) {
  if (loop.fused) return StepCode::kFused;
  return loop.foreach ? StepCode::kLists : StepCode::kOneByOne;
}

/// A program, its inputs and its recorder while they are being traced.
class Tracer {
 public:
  Tracer(const Program& program, const std::vector<BoundInput>& inputs,
         const TraceOptions& options)
      : program_(program),
        inputs_(inputs),
        options_(options),
        device_(options.device == TraceDevice::kMeta ? at::kMeta : at::kCPU),
        recorder_(Info(), device_) {
    MakeInstance();
    MakeInputs();
  }

  Trace Run() {
    try {
      return RunUnwrapped();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnsupported || device_ != at::kMeta) {
        throw;
      }
      throw Error(error.code(), error.what() + Others(error.what()));
    }
  }

 private:
  Trace RunUnwrapped() {
    try {
      if (options_.mode == Mode::kTraining) return Train();
      return options_.grad_mode ? InferWithGradMode() : Infer();
    } catch (const Error&) {
      throw;
    } catch (const std::exception&) {
      // LibTorch may have wrapped what the recorder threw.
      recorder_.RethrowFailure();
      throw;
    }
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
    Enter(Phase::kForward, TensorRole::kActivation);
    if (options_.autocast) RequireGradients(*instance_);
    const std::vector<at::Tensor> outputs = Forward();
    return Finish(outputs);
  }

  /// Ends with the results alive, and with what autograd keeps for as long as
  /// they are.
  Trace InferWithGradMode() {
    const at::AutoGradMode records(true);
    RequireGradients(*instance_);
    Enter(Phase::kForward, TensorRole::kActivation);
    const std::vector<at::Tensor> outputs = Forward();
    recorder_.ChangeRoleOfLiving(TensorRole::kActivation, TensorRole::kSaved);
    return Finish(outputs);
  }

  std::vector<at::Tensor> Forward() {
    std::optional<AutocastRegion> region;
    Begin(region);
    return instance_->Forward(tensors_);
  }

  /// As in `for …: out = model(x)`, the results of a step live until those of
  /// the next are there.
  Trace Train() {
    ChooseTrained();
    OptimizerStep optimizer(options_.optimizer, TrainableTensors(),
                            CodeOf(options_.loop));
    std::vector<at::Tensor> outputs;
    for (int step = 0; step < kTrainingSteps; ++step) {
      const bool is_last = step == kTrainingSteps - 1;
      recorder_.RecordNodes(is_last || recomputes());
      if (is_last) first_node_ = recorder_.num_nodes();
      Clear(optimizer);
      for (int batch = 0; batch < options_.loop.accumulation; ++batch) {
        ForwardAndBackward(outputs);
      }
      Enter(Phase::kOptimizer, TensorRole::kOptimizerTemporary);
      optimizer.Step();
      recorder_.ChangeRoleOfLiving(TensorRole::kOptimizerTemporary,
                                   TensorRole::kOptimizerState);
    }
    if (adapters_) adapters_->RequireUse();
    return Finish(outputs);
  }

  void ChooseTrained() {
    const TrainingLoop& loop = options_.loop;
    if (!loop.trainable.empty()) TrainOnly(loop.trainable, *instance_);
    if (loop.lora == LoraSpec{}) return;
    const UnrecordedScope unrecorded(TensorRole::kParameter);
    adapters_.emplace(loop.lora, *instance_);
    std::int64_t elements = program_.parameter_elements();
    for (const NamedTensor& parameter : adapters_->parameters()) {
      recorder_.AddSource(parameter.name, parameter.tensor);
      elements += parameter.tensor.numel();
    }
    recorder_.SetParameterElements(elements);
  }

  bool recomputes() const { return !options_.loop.recompute.empty(); }

  void Clear(OptimizerStep& optimizer) {
    if (options_.loop.set_to_none) return optimizer.ZeroGrad();
    Enter(Phase::kOptimizer, TensorRole::kOptimizerTemporary);
    optimizer.FillGradWithZeros();
  }

  GraphInfo Info() const {
    GraphInfo info{.name = program_.name(),
                   .mode = options_.mode,
                   .precision = options_.precision,
                   .batch = BatchOf(inputs_),
                   .autocast = options_.autocast,
                   .grad_mode = options_.grad_mode};
    if (options_.mode == Mode::kTraining) {
      info.optimizer = OptimizerName(options_.optimizer);
    }
    return info;
  }

  void MakeInstance() {
    const UnrecordedScope unrecorded(TensorRole::kParameter);
    recorder_.SetRole(TensorRole::kParameter);
    instance_ = program_.Instantiate({.device = at::Device(device_),
                                      .precision = options_.precision,
                                      .mode = options_.mode,
                                      .seed = options_.seed});
    for (const NamedTensor& parameter : instance_->Parameters()) {
      recorder_.AddSource(parameter.name, parameter.tensor);
      // Those of a frozen file are older than the recording.
      recorder_.SetRoleOf(parameter.tensor, TensorRole::kParameter);
    }
    for (const NamedTensor& buffer : instance_->Buffers()) {
      recorder_.AddSource(buffer.name, buffer.tensor);
      recorder_.SetRoleOf(buffer.tensor, TensorRole::kBuffer);
    }
    recorder_.SetParameterElements(program_.parameter_elements());
    recorder_.RedirectDevices(instance_->NamesDevices());
    recorder_.SetScope([this] { return instance_->CurrentScope(); });
  }

  void MakeInputs() {
    const UnrecordedScope unrecorded(TensorRole::kInput);
    for (const BoundInput& input : inputs_) {
      tensors_.push_back(MakeInput(input.type));
      recorder_.AddSource(input.name, tensors_.back());
      recorder_.MarkInput(tensors_.back());
    }
  }

  at::Tensor MakeInput(const TensorType& type) const {
    const at::ScalarType scalar = ToScalarType(type.dtype, options_.precision);
    const auto options = at::TensorOptions().dtype(scalar).device(device_);
    if (device_ == at::kMeta) return at::empty(type.shape, options);
    if (at::isFloatingType(scalar)) return at::randn(type.shape, options);
    return at::randint(0, 2, type.shape, options);
  }

  void Enter(Phase phase, TensorRole role) {
    recorder_.SetPhase(phase);
    recorder_.SetRole(role);
  }

  /// Those of the program, then those of its adapters.
  std::vector<at::Tensor> TrainableTensors() const {
    std::vector<NamedTensor> parameters = instance_->Parameters();
    if (adapters_) {
      parameters.insert(parameters.end(), adapters_->parameters().begin(),
                        adapters_->parameters().end());
    }
    std::vector<at::Tensor> tensors;
    for (const NamedTensor& parameter : parameters) {
      if (parameter.tensor.requires_grad()) tensors.push_back(parameter.tensor);
    }
    return tensors;
  }

  /// Begins autocast where it is wanted.
  void Begin(std::optional<AutocastRegion>& region) const {
    if (!options_.autocast) return;
    region.emplace(device_, ToScalarType(*options_.autocast));
  }

  at::Tensor ForwardAndLoss(std::vector<at::Tensor>& outputs) {
    std::optional<AutocastRegion> region;
    Begin(region);
    outputs = instance_->Forward(tensors_);
    return ScalarLoss(outputs);
  }

  void ForwardAndBackward(std::vector<at::Tensor>& outputs) {
    Enter(Phase::kForward, TensorRole::kActivation);
    at::Tensor loss = ForwardAndLoss(outputs);
    recorder_.ChangeRoleOfLiving(TensorRole::kActivation, TensorRole::kSaved);
    Enter(Phase::kBackward, TensorRole::kBackwardTemporary);
    if (loss.requires_grad()) loss.backward();
    trained_.clear();
    for (const at::Tensor& parameter : TrainableTensors()) {
      const at::Tensor& gradient = parameter.grad();
      if (!gradient.defined()) continue;
      recorder_.SetRoleOf(gradient, TensorRole::kGradient);
      trained_.push_back({.parameter = recorder_.StorageOf(parameter),
                          .gradient = recorder_.StorageOf(gradient)});
    }
  }

  Trace Finish(const std::vector<at::Tensor>& outputs) {
    std::vector<BoundInput> types;
    for (const at::Tensor& output : outputs) {
      if (!output.defined()) continue;
      if (output.device().type() == device_) recorder_.MarkOutput(output);
      types.push_back({fmt::format("output{}", types.size()),
                       {ToDType(output.scalar_type()), output.sizes().vec()}});
    }
    std::vector<std::string> warnings = program_.warnings(options_.mode);
    for (std::string& warning :
         WeightWarnings(program_.weight_elements(), options_.precision)) {
      warnings.push_back(std::move(warning));
    }
    for (const std::string& name : recorder_.fallbacks()) {
      warnings.push_back(name +
                         " has no meta kernel: it was run on the CPU for "
                         "its shapes");
    }
    if (options_.mode == Mode::kTraining && trained_.empty()) {
      warnings.push_back(WhyNothingIsTrained(TrainableTensors().size()));
    }
    OperatorGraph graph = recorder_.Finish();
    if (options_.mode == Mode::kTraining && recomputes()) {
      graph = RecomputeBlocks(graph, options_.loop.recompute, first_node_);
    }
    graph = parallel::Parallelize(graph, options_.loop.parallel, trained_);
    for (std::string& warning : GradModeWarnings(graph)) {
      warnings.push_back(std::move(warning));
    }
    return {std::move(graph), inputs_, std::move(types), std::move(warnings)};
  }

  const Program& program_;
  const std::vector<BoundInput>& inputs_;
  const TraceOptions& options_;
  c10::DeviceType device_;
  // Before all tensors, so that it outlives them when a run throws.
  Recorder recorder_;
  std::unique_ptr<ProgramInstance> instance_;
  std::vector<at::Tensor> tensors_;
  std::optional<LoraAdapters> adapters_;
  NodeId first_node_ = 0;                            ///< Of the last step.
  std::vector<parallel::TrainedParameter> trained_;  ///< In the last step.
};

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
  });
}

std::optional<Trace> Program::Source::TraceElsewhere(
    const Program& /*program*/, const std::vector<BoundInput>& /*inputs*/,
    const TraceOptions& /*options*/) const {
  return std::nullopt;
}

std::optional<Trace> Program::TraceElsewhere(
    const std::vector<BoundInput>& inputs, const TraceOptions& options) const {
  return source_->TraceElsewhere(*this, inputs, options);
}

Trace TraceProgram(const Program& program,
                   const std::vector<BoundInput>& inputs,
                   const TraceOptions& options) {
  InitializeTracing();
  if (auto trace = program.TraceElsewhere(inputs, options)) return *trace;
  const TorchStateScope state;
  const TorchScope torch(options.torch);
  try {
    RequireAutocastFits(options);
    RequireLoopFits(options.loop);
    RequireParallelFits(options);
    return Tracer(program, inputs, options).Run();
  } catch (const Error& error) {
    const bool named =
        std::string_view(error.what()).starts_with(program.name());
    throw named ? error : WithContext(program.name(), error);
  } catch (const c10::NotImplementedError& error) {
    throw Error(ErrorCode::kUnsupported,
                program.name() + ": " +
                    LibTorchMessage(error.what_without_backtrace()));
  } catch (const c10::Error& error) {
    throw Error(ErrorCode::kInvalidArgument,
                program.name() + ": " +
                    LibTorchMessage(error.what_without_backtrace()));
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::kUnsupported,
                program.name() +
                    ": tracing it needs more memory than it may "
                    "have");
  } catch (const std::exception& error) {
    throw Error(ErrorCode::kInvalidArgument,
                program.name() + ": " + LibTorchMessage(error.what()));
  }
}

}  // namespace foretell
