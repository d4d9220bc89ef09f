#include "cli/flags/run_flags.h"

#include "cli/flags/named_flag.h"
#include "foretell/error.h"
#include "src/core/files.h"
#include "src/host/host_store.h"
#include "src/predict/read_correction.h"

namespace foretell::cli {
namespace {

constexpr int kNewestMajor = 2;

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
          "Version of PyTorch that runs it: attention is fused from 2.0 on")
      ->default_str(ToString(version));
}

/// --host: what calls the operators, or a machine that does so with the default
/// interpreter.
void AddHostFlag(CLI::App& command, Run& run, HostSpec& host) {
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
          "Host runtime, whose launches the GPU may wait for: python (PyTorch) "
          "or cpp (LibTorch); or a machine that `foretell host` timed")
      ->default_str(std::string(HostName(run.host)));
}

void AddPowerLimit(CLI::App& command, Run& run) {
  command.add_option("--power-limit", run.power_limit_w,
                     "Limit in W set on the board (nvidia-smi -pl), below its "
                     "own: what it costs and saves");
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
      "Automatic mixed precision: to BF16 from Ampere on, else to FP16; "
      "--precision bf16 or fp16 chooses");
}

void AddExecutionFlags(CLI::App& command, Run& run, const DeviceFlags& device) {
  AddAutocast(command, run, device);
  command.add_flag("--channels-last", run.channels_last,
                   "Network and images in channels-last");
  AddTorch(command, run.torch);
  AddGradMode(command, run);
  AddPowerLimit(command, run);
}

}  // namespace

void AddStepFlags(CLI::App& command, Run& run) {
  AddNamed(command, "-m,--mode", run.mode, {Mode::kInference, Mode::kTraining},
           &ModeName, "inference or training");
  AddNamed(command, "--optimizer", run.optimizer,
           {kAllOptimizers.begin(), kAllOptimizers.end()}, &OptimizerName,
           "Optimizer of --mode training");
  AddNamed(
      command, "-p,--precision", run.precision,
      {Precision::kFp32, Precision::kTf32, Precision::kFp16, Precision::kBf16},
      &PrecisionName,
      "float32 parameters and inputs are cast to it; fp32 leaves the "
      "file's types");
}

void AddGradMode(CLI::App& command, Run& run) {
  command.add_flag("--grad", run.grad_mode,
                   "Inference without torch.no_grad(): autograd keeps what a "
                   "backward pass would need until the results are dropped");
}

void PredictorFlags::AddTo(CLI::App& command, Run& run) {
  device.AddTo(command);
  AddHostFlag(command, run, host);
  AddExecutionFlags(command, run, device);
  CLI::Option* checkpoint =
      command
          .add_option("--checkpoint", checkpoints,
                      "best.safetensors of your own training, for the figures "
                      "that it predicts; the others are analytic")
          ->allow_extra_args(false);
  AddNamed(command, "--method", method,
           {Method::kAuto, Method::kAnalytic, Method::kLearned, Method::kPmgns},
           &MethodName,
           "analytic; learned, wherever a trained network knows such runs; "
           "auto, where measurements speak for it; pmgns, the DIPPM paper's "
           "network")
      ->excludes(checkpoint);
  command.add_flag("--expandable-segments", expandable_segments,
                   "PYTORCH_ALLOC_CONF=expandable_segments:True");
  command
      .add_option("--link", link_gb_s,
                  "10^9 bytes per second one way between GPUs of --parallel; "
                  "default: the device's")
      ->check(CLI::Range(1e-3, 1e6));
  command.add_option("--adaptation", adaptation,
                     "What `foretell adapt` or `foretell calibrate` made of "
                     "measurements of your own");
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
    ReadCorrection(ReadText(adaptation), adaptation, options);
  }
  return options;
}

Predictor PredictorFlags::Make(const Run& run, bool with_least) const {
  const DeviceCatalog catalog = device.Catalog();
  PredictorOptions options = ToOptions(catalog);
  options.with_least = with_least;
  return Predictor::Make(catalog.FindDevice(device.device), run, options);
}

}  // namespace foretell::cli
