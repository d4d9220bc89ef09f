#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "foretell/graph.h"
#include "foretell/runtime.h"

namespace foretell {

/// Optimizers whose step is traced, with the default code of the library that
/// has them: torch.optim's over whole lists of tensors (`foreach`) if
/// HasListStep, else over one parameter at a time.
enum class Optimizer {
  kSgd,
  kMomentum,
  kAdam,
  kAdamW,
  kRmsProp,
  kAdagrad,
  kAdafactor,
  kAmsgrad,      ///< torch.optim.AdamW(amsgrad=True).
  kMuon,         ///< Of matrices; AdamW of embeddings and other parameters.
  kHfAdafactor,  ///< transformers.Adafactor.
  kAdamW8bit,    ///< bitsandbytes; kTorchao… are torchao's.
  /// The same as transformers' Trainer makes it: embeddings keep whole states,
  /// as with those below.
  kBnbAdamW8bit,
  kPagedAdamW,  ///< States in unified memory, as of the other kPaged….
  kPagedAdamW8bit,
  kLion,
  kLion8bit,
  kPagedLion,
  kPagedLion8bit,
  kTorchaoAdamW8bit,
  kTorchaoAdamW4bit,
  kBnbAdamW,  ///< bitsandbytes' in 32 bits.
  kLamb,      ///< bitsandbytes', which has kernels of 32 bits alone.
};
inline constexpr std::array kAllOptimizers = {Optimizer::kSgd,
                                              Optimizer::kMomentum,
                                              Optimizer::kAdam,
                                              Optimizer::kAdamW,
                                              Optimizer::kRmsProp,
                                              Optimizer::kAdagrad,
                                              Optimizer::kAdafactor,
                                              Optimizer::kAmsgrad,
                                              Optimizer::kMuon,
                                              Optimizer::kHfAdafactor,
                                              Optimizer::kAdamW8bit,
                                              Optimizer::kBnbAdamW8bit,
                                              Optimizer::kPagedAdamW,
                                              Optimizer::kPagedAdamW8bit,
                                              Optimizer::kLion,
                                              Optimizer::kLion8bit,
                                              Optimizer::kPagedLion,
                                              Optimizer::kPagedLion8bit,
                                              Optimizer::kTorchaoAdamW8bit,
                                              Optimizer::kTorchaoAdamW4bit,
                                              Optimizer::kBnbAdamW,
                                              Optimizer::kLamb};
std::string_view OptimizerName(Optimizer optimizer);
/// True if torch.optim has a fused step (`fused=True`).
bool HasFusedStep(Optimizer optimizer);
/// True if torch.optim has a step over lists (`foreach=True`), its default.
bool HasListStep(Optimizer optimizer);
/// True if a library other than PyTorch brings the kernels of the step, which
/// are recorded and cannot be run here.
bool HasForeignKernels(Optimizer optimizer);
/// Accepts names of transformers' TrainingArguments.optim too, and hyphens for
/// underscores. Throws Error(kInvalidArgument) that lists the known names.
Optimizer ParseOptimizer(std::string_view name);

/// What calls the operators.
enum class Host : std::uint8_t {
  kPython,  ///< PyTorch.
  kCpp,     ///< LibTorch.
};
std::string_view HostName(Host host);  ///< "python", "cpp".
std::optional<Host> ParseHost(std::string_view name);

/// Versions of PyTorch by how they run attention.
enum class TorchGeneration : std::uint8_t {
  /// Before 2.0: no fused attention; networks multiply, scale and normalise
  /// on their own.
  kNoFusedAttention,
  /// 2.0 to 2.4: fused for four dimensions, else products in the operands'
  /// type.
  kFusedAttention,
  /// Since 2.5: as before, but unfused attention runs in FP32.
  kFloatAttentionFallback,
};

/// A version of PyTorch.
struct TorchVersion {
  int major = 2;
  int minor = 9;
  std::optional<int> patch = {};

  TorchGeneration Generation() const;
  std::strong_ordering operator<=>(const TorchVersion&) const = default;
};
std::string ToString(const TorchVersion& version);  ///< "2.4" or "2.4.1".
/// Since this version autocast runs upsampling in FP32.
inline constexpr TorchVersion kFloatUpsampling = {.major = 2, .minor = 4};
/// Since this version optimizers run over lists by default.
inline constexpr TorchVersion kListsByDefault = {.major = 2, .minor = 0};
/// Since this version zero_grad() drops gradients by default.
inline constexpr TorchVersion kNoneByDefault = {.major = 2, .minor = 0};
/// Since this version a step of Adam or AdamW over lists has one temporary as
/// large as the parameters, in 2.0 two (PyTorch's issue 97712).
inline constexpr TorchVersion kLeanAdam = {.major = 2, .minor = 1};
/// The first number with a dot: 1.13.1 of "pytorch-1.13.1+cu117". Empty if
/// there is none.
std::optional<TorchVersion> ParseTorchVersion(std::string_view text);

/// How PyTorch runs a network. The hardware is in a DeviceSpec, the traced
/// operators in a graph.
struct Run {
  Mode mode = Mode::kInference;
  Precision precision = Precision::kFp32;
  Optimizer optimizer = Optimizer::kSgd;  ///< Steps Mode::kTraining.
  /// Automatic mixed precision. The graph shows its casts: it was traced under
  /// autocast (GraphInfo::autocast).
  bool autocast = false;
  /// Network and input were converted to the channels-last format. The graph
  /// shows its strides: it was traced that way (GraphInfo::channels_last).
  bool channels_last = false;
  /// Group norms stay in 16 bits under autocast, as with timm's fast norm;
  /// false: they run in FP32, as autocast does by default.
  bool half_group_norm = false;
  /// Likewise layer norms; timm's do with its fast norm, PyTorch's never.
  bool half_layer_norm = false;
  /// Under autocast weights and inputs are in its type already, as of a model
  /// that was loaded so; false: in FP32. Ignored without autocast.
  bool half_weights = false;
  TorchVersion torch = {};
  Host host = Host::kPython;
  /// The file was exported with batch norms folded into convolutions, but the
  /// network that runs still has them: see cost::HasFoldedNorm. False: the
  /// graph runs as is.
  bool restore_folded_norms = false;
  /// PyTorch's grad mode in inference: torch.no_grad() is not in effect, and
  /// autograd records the forward pass. Tensors for a backward pass live until
  /// the results are freed. Ignored in training, which always records; readers
  /// refuse it there.
  bool grad_mode = false;
  /// Power limit of the board in W (nvidia-smi -pl), below its default.
  std::optional<int> power_limit_w = {};
  /// What runs the operators. The graph shows its kernels: it was rewritten for
  /// it (GraphInfo::runtime).
  RuntimeSpec runtime = {};

  std::partial_ordering operator<=>(const Run&) const = default;
};

/// 16-bit type that autocast casts to: BF16 if that is the run's precision,
/// else FP16. Empty without autocast.
std::optional<DType> AutocastType(const Run& run);
/// Precision of what autocast leaves alone; without autocast, of the run.
Precision UncastPrecision(const Run& run);

/// `run` with the mode, the precision and the grad mode that `info` states,
/// with its optimizer if that is one of Optimizer's, and under autocast or in
/// channels-last if and only if it was traced so.
Run RunOf(const GraphInfo& info, const Run& run);

/// An object on one line, with all fields: {"autocast":false, …}.
std::string RunToJson(const Run& run);
/// Reads what RunToJson writes: every field once and no others; a power limit
/// and the types of norms may be absent. Throws Error(kCorrupt) that names
/// `origin`, the field and its value; also for grad mode in training.
Run RunFromJson(std::string_view json, const std::string& origin);

}  // namespace foretell
