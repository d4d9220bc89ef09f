#include "cli/flags/run_flags.h"

#include "cli/flags/loop_flags.h"
#include "cli/flags/named_flag.h"
#include "foretell/error.h"
#include "src/core/files.h"
#include "src/host/host_store.h"

namespace foretell::cli {
namespace {

constexpr int kNewestMajor = 2;

void AddPowerLimit(CLI::App& command, Run& run) {
  command.add_option(
      "--power-limit", run.power_limit_w,
      "Power limit of the board in W (nvidia-smi -pl), below its default");
}

/// --autocast, whose type follows from the device where --precision does not
/// name one.
void AddAutocast(CLI::App& command, Run& run, const DeviceFlags& device) {
  command.add_flag_callback(
      "--autocast",
      [&command, &run, &device] {
        run.autocast = true;
        const CLI::Option* precision =
            command.get_option_no_throw("--precision");
        if (precision != nullptr && precision->empty()) {
          run.precision = AutocastPrecision(device.Find());
        }
      },
      "Automatic mixed precision: BF16 on Ampere and newer, else FP16; choose "
      "with --precision bf16 or fp16");
}

void AddExecutionFlags(CLI::App& command, Run& run, const DeviceFlags& device) {
  AddAutocast(command, run, device);
  command.add_flag("--half-weights", run.half_weights,
                   "Under --autocast, weights and inputs are in its type, as "
                   "of a model loaded in 16 bits");
  command.add_flag("--channels-last", run.channels_last,
                   "Network and images in channels-last");
  AddRuntime(command, run.runtime);
  AddTorch(command, run.torch);
  AddGradMode(command, run);
  AddPowerLimit(command, run);
}

/// Leaves unknown names to the flag's own check, which lists the known ones.
std::string ReplaceAlias(std::string& name) {
  try {
    name = OptimizerName(ParseOptimizer(name));
  } catch (const Error&) {
  }
  return "";
}

}  // namespace

void AddRuntime(CLI::App& command, RuntimeSpec& runtime) {
  command
      .add_option_function<std::string>(
          "--runtime",
          [&runtime](const std::string& text) {
            runtime = ParseRuntime("--runtime", text);
          },
          "What runs the model: eager, compile (torch.compile), onnxruntime "
          "or tensorrt; options behind commas, as compile,reduce-overhead or "
          "tensorrt,int8")
      ->default_str(ToString(runtime));
}

void AddHostFlag(CLI::App& command, Run& run, std::optional<HostSpec>& host) {
  command
      .add_option_function<std::string>(
          "--host",
          [&run, &host](const std::string& name) {
            if (const std::optional<Host> caller = ParseHost(name)) {
              run.host = *caller;
            } else {
              host = host::HostStore::OfUser().Find(name).spec;
            }
          },
          "Host runtime that launches kernels: python (PyTorch), cpp "
          "(LibTorch); or a machine: fast, typical, slow, or one timed by "
          "`foretell host`")
      ->default_str(std::string(HostName(run.host)));
}

void AddTorch(CLI::App& command, TorchVersion& version) {
  command
      .add_option_function<std::string>(
          "--torch",
          [&version](const std::string& text) {
            const std::optional<TorchVersion> parsed = ParseTorchVersion(text);
            if (!parsed || parsed->major > kNewestMajor) {
              throw Error(ErrorCode::kInvalidArgument,
                          "--torch '" + text +
                              "': expected a version of PyTorch 1 or 2, e.g. "
                              "2.4");
            }
            version = *parsed;
          },
          "PyTorch version that runs the model; >= 2.0 fuses attention")
      ->default_str(ToString(version));
}

void AddOptimizer(CLI::App& command, Optimizer& optimizer) {
  AddNamed(command, "--optimizer", optimizer,
           {kAllOptimizers.begin(), kAllOptimizers.end()}, &OptimizerName,
           "Optimizer of --mode training, also as transformers calls it")
      ->transform(CLI::Validator(&ReplaceAlias, ""));
}

void AddStepFlags(CLI::App& command, Run& run) {
  AddNamed(command, "-m,--mode", run.mode, {Mode::kInference, Mode::kTraining},
           &ModeName, "inference or training");
  AddOptimizer(command, run.optimizer);
  AddNamed(
      command, "-p,--precision", run.precision,
      {Precision::kFp32, Precision::kTf32, Precision::kFp16, Precision::kBf16},
      &PrecisionName,
      "Cast float32 parameters and inputs to this type; fp32 keeps the file's "
      "types");
}

void AddGradMode(CLI::App& command, Run& run) {
  command.add_flag("--grad", run.grad_mode,
                   "Inference without torch.no_grad(): autograd keeps tensors "
                   "for a backward pass until the results are freed");
}

void PredictorFlags::AddTo(CLI::App& command, Run& run) {
  device.AddTo(command);
  AddHostFlag(command, run, host);
  AddExecutionFlags(command, run, device);
  CLI::Option* checkpoint =
      command
          .add_option("--checkpoint", checkpoints,
                      "best.safetensors of your own training, used for the "
                      "figures it predicts; other figures are analytic")
          ->allow_extra_args(false);
  AddNamed(
      command, "--method", method,
      {Method::kAuto, Method::kAnalytic, Method::kLearned, Method::kPmgns},
      &MethodName,
      "analytic; learned: a trained network for all runs it supports; auto: "
      "only where measurements favor it; pmgns: the DIPPM paper's network")
      ->excludes(checkpoint);
  command.add_flag("--expandable-segments", expandable_segments,
                   "PYTORCH_ALLOC_CONF=expandable_segments:True");
  command
      .add_option("--link", link_gb_s,
                  "One-way bandwidth between GPUs of --parallel in 10^9 bytes "
                  "per second; default: the device's")
      ->check(CLI::Range(1e-3, 1e6));
  command.add_option("--adaptation", adaptation,
                     "File written by `foretell adapt` or `foretell calibrate` "
                     "from your own measurements");
}

PredictorOptions PredictorFlags::ToOptions(const DeviceCatalog& catalog) const {
  PredictorOptions options{
      .method = method,
      .checkpoints = checkpoints,
      .catalog = &catalog,
      .allocator = {.expandable_segments = expandable_segments},
      .cost = {.link_gb_s = link_gb_s},
      .host = host};
  if (!device.environment.empty()) {
    options.context = catalog.FindContext(device.environment);
  }
  if (!adaptation.empty()) {
    options.correction = CorrectionFromJson(ReadText(adaptation), adaptation);
  }
  return options;
}

Predictor PredictorFlags::Make(const Run& run, bool with_least,
                               bool with_slices) const {
  const DeviceCatalog catalog = device.Catalog();
  PredictorOptions options = ToOptions(catalog);
  options.with_least = with_least;
  options.with_slices = with_slices;
  return Predictor::Make(catalog.FindDevice(device.device), run, options);
}

std::vector<std::string> SetupWords(const ModelOptions& model,
                                    const PredictorFlags& predictor) {
  std::vector<std::string> words = LoopWords(model.loop);
  if (model.run.runtime != RuntimeSpec{}) {
    words.push_back("--runtime " + ToString(model.run.runtime));
  }
  if (predictor.expandable_segments) {
    words.emplace_back("--expandable-segments");
  }
  const std::vector<std::string> passes = model.passes.Words();
  words.insert(words.end(), passes.begin(), passes.end());
  return words;
}

}  // namespace foretell::cli
