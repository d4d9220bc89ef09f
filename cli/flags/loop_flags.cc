#include "cli/flags/loop_flags.h"

#include <fmt/core.h>

#include <map>
#include <optional>

#include "cli/flags/defaulted_flag.h"
#include "cli/flags/number_checks.h"

namespace foretell::cli {
namespace {

const std::map<std::string, bool> kSwitch = {{"off", false}, {"on", true}};

/// `Value` is bool, or std::optional where PyTorch's version decides.
template <typename Value>
void AddSwitch(CLI::App& command, const std::string& flag, Value& value,
               const char* usual, const std::string& help) {
  command
      .add_option_function<std::string>(
          flag, [&value](const std::string& text) { value = kSwitch.at(text); },
          help)
      ->check(CLI::IsMember({"on", "off"}))
      ->default_str(usual);
}

/// What is trained of a network.
void AddTrainedFlags(CLI::App& command, TrainingLoop& loop) {
  command.add_option(
      "--trainable", loop.trainable,
      "Train only parameters whose names match this regular expression");
  command.add_option_function<std::string>(
      "--lora",
      [&loop](const std::string& text) {
        loop.lora = ParseLora("--lora", text);
      },
      "LoRA adapters, their rank and the layers whose weights' names match: "
      "r=16,targets=q_proj|v_proj; also dropout=0.05, type=bf16, save=lm_head, "
      "bias=all, dora, kbit, alpha=32, rslora, vera, ia3, method=loha, lokr, "
      "oft or boft; method=prompt,tokens=20, ptuning or prefix: virtual "
      "tokens; nothing else is trained");
  command.add_option_function<std::string>(
      "--quantize",
      [&loop](const std::string& text) {
        loop.quantize = ParseQuantize("--quantize", text);
      },
      "Hold the weights of linear layers in few bits: nf4, fp4, int8, gptq:4, "
      "awq:4 or fp8; nf4,double quantizes scales as well; the last layer keeps "
      "its weights, or those named by skip=lm_head");
  command.add_flag("--input-grad", loop.input_grad,
                   "Inputs of floating point require gradients");
}

void AddOffloadFlags(CLI::App& command, TrainingLoop& loop) {
  command
      .add_option(
          "--offload-optimizer", loop.offload_optimizer,
          "Step large parameters on the host, which keeps their states, "
          "or also their gradients: torchao's CPUOffloadOptimizer")
      ->check(CLI::IsMember(
          {std::string(kOffloadStates), std::string(kOffloadGradients)}));
  command.add_flag("--offload-activations", loop.offload_activations,
                   "Keep what the backward pass needs on the host meanwhile: "
                   "torchtune's OffloadActivations");
}

}  // namespace

void AddLoopFlags(CLI::App& command, TrainingLoop& loop) {
  AddSwitch(command, "--foreach", loop.foreach, "on",
            "Update all parameters at once in the optimizer; off: one by one, "
            "the default before --torch 2.0");
  AddSwitch(command, "--fused", loop.fused, "off",
            "Fused optimizer step, for sgd, momentum, adam, adamw, amsgrad "
            "and adagrad");
  AddSwitch(command, "--set-to-none", loop.set_to_none, "on",
            "Drop gradients in zero_grad(); off: fill them with zeros, the "
            "default before --torch 2.0");
  command.add_flag("--late-zero-grad", loop.late_zero_grad,
                   "Call zero_grad() between forward and backward pass: "
                   "gradients live through the forward pass");
  command.add_flag("--optimizer-in-backward", loop.optimizer_in_backward,
                   "Step each parameter as soon as its gradient exists, and "
                   "free the gradient");
  AddOffloadFlags(command, loop);
  command.add_flag(
      "--loss-in-function", loop.loss_in_function,
      "The loop calls a function that returns the loss, as "
      "transformers' Trainer: results die before the backward pass");
  command.add_flag("--step-in-function", loop.step_in_function,
                   "The loop calls a function that does a whole step: results "
                   "die with the step");
  command.add_flag("--keep-result", loop.keep_result,
                   "Inference in a loop of y = net(x): the last result lives "
                   "until the next one exists");
  AddDefaulted(command, "--accumulate", loop.accumulation,
               "Batches whose gradients are accumulated before the optimizer "
               "runs: forward and backward passes per step",
               AboveZero());
  AddTrainedFlags(command, loop);
  command.add_option(
      "--recompute", loop.recompute,
      "Activation checkpointing of the modules at these paths, e.g. "
      "'blocks.*', "
      "or auto: the numbered modules that save most; blocks.*/2: each second; "
      "also save=mm|sdpa (results that are kept) and reentrant");
  command.add_option(
      "--kernels", loop.kernels,
      "Kernels of other libraries, one or several of liger, rms-norm, rope, "
      "swiglu, cross-entropy, fused-linear-cross-entropy, "
      "chunked-cross-entropy:8, foak, foak-liger; float8, float8-rowwise or "
      "float8-rowwise-gw-hp, and mxfp8: torchao's training in 8 bits; te-fp8, "
      "te-fp8-current, te-mxfp8 or te-nvfp4: TransformerEngine's");
  command.add_option_function<std::string>(
      "--parallel",
      [&loop](const std::string& text) {
        loop.parallel = ParseParallel("--parallel", text);
      },
      "Share the step among GPUs; --batch is per GPU: ddp:8, zero1:8, zero2:8, "
      "fsdp:8, fsdp1:8 or hsdp:2x4; pp:4,microbatches=8: a pipeline, --batch "
      "for all GPUs; or, also for inference, tp:4: layers by columns and rows, "
      "with tp:4,vocabulary the vocabulary as well, cp:4: sequences, --batch "
      "for all GPUs, and ep:4: experts");
}

std::vector<std::string> LoopWords(const TrainingLoop& loop) {
  std::vector<std::string> words;
  const auto add = [&words](const char* flag, std::optional<bool> value) {
    if (value)
      words.push_back(fmt::format("{} {}", flag, *value ? "on" : "off"));
  };
  add("--foreach", loop.foreach);
  if (loop.fused) words.emplace_back("--fused on");
  add("--set-to-none", loop.set_to_none);
  if (loop.late_zero_grad) words.emplace_back("--late-zero-grad");
  if (loop.optimizer_in_backward) {
    words.emplace_back("--optimizer-in-backward");
  }
  if (!loop.offload_optimizer.empty()) {
    words.push_back("--offload-optimizer " + loop.offload_optimizer);
  }
  if (loop.offload_activations) words.emplace_back("--offload-activations");
  if (loop.loss_in_function) words.emplace_back("--loss-in-function");
  if (loop.step_in_function) words.emplace_back("--step-in-function");
  if (loop.keep_result) words.emplace_back("--keep-result");
  if (loop.accumulation != 1) {
    words.push_back(fmt::format("--accumulate {}", loop.accumulation));
  }
  if (!loop.trainable.empty()) {
    words.push_back(fmt::format("--trainable {}", loop.trainable));
  }
  if (loop.lora != LoraSpec{}) {
    words.push_back(fmt::format("--lora {}", ToString(loop.lora)));
  }
  if (loop.quantize != QuantizeSpec{}) {
    words.push_back(fmt::format("--quantize {}", ToString(loop.quantize)));
  }
  if (loop.input_grad) words.emplace_back("--input-grad");
  if (!loop.recompute.empty()) {
    words.push_back(fmt::format("--recompute {}", loop.recompute));
  }
  if (!loop.kernels.empty()) {
    words.push_back(fmt::format("--kernels {}", loop.kernels));
  }
  if (loop.parallel != ParallelSpec{}) {
    words.push_back(fmt::format("--parallel {}", ToString(loop.parallel)));
  }
  return words;
}

}  // namespace foretell::cli
