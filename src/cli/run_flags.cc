#include "src/cli/run_flags.h"

#include <nlohmann/json.hpp>

#include "foretell/error.h"
#include "training/execution_mode.h"

namespace foretell::cli {

void RunFlags::AddTo(CLI::App& command) {
  CLI::Option* checkpoint =
      command
          .add_option("--checkpoint", checkpoints_,
                      "best.safetensors of your own training, for the figures "
                      "that it predicts; the others are analytic")
          ->allow_extra_args(false);
  command
      .add_option("--method", method_,
                  "analytic; learned, wherever a trained network knows such "
                  "runs; auto, where measurements speak for it")
      ->check(CLI::IsMember({"auto", "analytic", "learned"}))
      ->capture_default_str()
      ->excludes(checkpoint);
  command.add_flag("--autocast", autocast_,
                   "Inference under automatic mixed precision to FP16");
  command.add_flag("--channels-last", channels_last_,
                   "Network and images in channels-last; with --autocast");
  command
      .add_option("--torch", torch_,
                  "Version of PyTorch that runs it; with --autocast")
      ->capture_default_str();
}

void RunFlags::ApplyTo(ModelOptions& model) const {
  if (!autocast_) return;
  if (model.mode != "inference") {
    throw Error(ErrorCode::kInvalidArgument,
                "--autocast is for inference, not for --mode " + model.mode);
  }
  if (model.precision != "fp32" && model.precision != "fp16") {
    throw Error(
        ErrorCode::kInvalidArgument,
        "--autocast casts to fp16, not to --precision " + model.precision);
  }
  model.precision = "fp16";
}

std::string RunFlags::LabelEnvironment() const {
  return nlohmann::json{
      {"autocast", autocast_},
      {"memory_format", channels_last_ ? "channels_last" : "contiguous"},
      {"torch", torch_}}
      .dump();
}

model::LearnedRequest RunFlags::ToRequest(const Target& target) const {
  if (!training::ParseVersion(torch_)) {
    throw Error(ErrorCode::kInvalidArgument,
                "--torch '" + torch_ + "': expected a version, e.g. 2.4");
  }
  return {.method = *model::ParseMethod(method_),
          .mode = training::ExecutionModeOf(LabelEnvironment()),
          .device = target.device,
          .environment = target.environment};
}

void RunFlags::Improve(const OperatorGraph& graph,
                       const model::LearnedRequest& request,
                       const OwnCheckpoints& own,
                       Prediction& prediction) const {
  if (own.empty()) {
    model::LearnedPredictors::BuiltIn().Improve(graph, request, prediction);
  } else {
    own.Improve(graph, request, LabelEnvironment(), prediction);
  }
  if (autocast_ && prediction.memory_source.trained_on.empty()) {
    prediction.warnings.emplace_back(
        "memory and energy are those of a network converted to FP16; autocast "
        "keeps parameters in FP32 beside their casts");
  }
}

}  // namespace foretell::cli
