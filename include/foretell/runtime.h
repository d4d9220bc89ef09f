#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foretell {

/// What runs the operators of a network.
enum class Runtime : std::uint8_t {
  kEager,        ///< PyTorch, one operator after the other.
  kCompile,      ///< torch.compile with Inductor.
  kOnnxRuntime,  ///< ONNX Runtime's CUDA provider.
  kTensorRt,     ///< An engine that TensorRT built.
};
std::string_view RuntimeName(Runtime runtime);

/// How far ONNX Runtime rewrites a graph (GraphOptimizationLevel);
/// kTransformers: all, and before it what onnxruntime.transformers.optimizer
/// does to the file.
enum class OrtLevel : std::uint8_t {
  kDisabled,
  kBasic,
  kExtended,
  kAll,
  kTransformers
};

/// How ONNX Runtime's CUDA provider chooses cuDNN's algorithms
/// (cudnn_conv_algo_search).
enum class OrtSearch : std::uint8_t { kExhaustive, kHeuristic, kDefault };

/// Whether Inductor folds parameters into constants of its own
/// (torch._inductor.config.freezing), and whether the originals stay
/// (freezing_discard_parameters).
enum class Freezing : std::uint8_t { kOff, kKeep, kDiscard };

/// Stands for the modules whose path ends with its first number, as those of a
/// ModuleList, in RuntimeSpec::only.
inline constexpr std::string_view kAutomaticModules = "auto";
/// Stands there for the function of the loss behind the network, unless a
/// module has this path.
inline constexpr std::string_view kLossFunction = "loss";

/// The value of `--runtime`. Fields of another runtime than `runtime` keep
/// their defaults, which are that runtime's own.
struct RuntimeSpec {
  Runtime runtime = Runtime::kEager;

  /// kCompile: kernels are replayed from CUDA graphs (mode="reduce-overhead",
  /// and "max-autotune").
  bool cuda_graphs = false;
  /// kCompile: templates of products are timed, with what follows fused into
  /// them (mode="max-autotune").
  bool max_autotune = false;
  /// kCompile: torch._functorch.config.activation_memory_budget, in [0, 1]; 1:
  /// recompute what the partition finds cheaper than keeping.
  double memory_budget = 1;
  Freezing freezing = Freezing::kOff;  ///< kCompile, inference.
  /// kCompile: modules, by path, after whose calls Dynamo breaks the graph, in
  /// addition to what the recorded program shows.
  std::vector<std::string> breaks = {};
  /// kCompile: modules, by path, each of whose calls is compiled alone, while
  /// the rest is eager PyTorch's; also kAutomaticModules and kLossFunction.
  /// Empty: the whole network is compiled.
  std::vector<std::string> only = {};

  OrtLevel level = OrtLevel::kAll;            ///< kOnnxRuntime.
  OrtSearch search = OrtSearch::kExhaustive;  ///< kOnnxRuntime.
  /// kOnnxRuntime: arena_extend_strategy is kSameAsRequested; false:
  /// kNextPowerOfTwo.
  bool exact_arena = false;

  bool int8 = false;    ///< kTensorRt: layers may run in INT8.
  bool sparse = false;  ///< kTensorRt: weights have 2:4 sparsity.
  bool nhwc = false;    ///< kOnnxRuntime: prefer_nhwc of the CUDA provider.
  /// kOnnxRuntime: the session knows all sizes of inputs before it plans, from
  /// AddFreeDimensionOverrideByName. A file that fixes them needs none.
  bool overrides = false;

  auto operator<=>(const RuntimeSpec&) const = default;
};

/// "eager", "compile", "compile,reduce-overhead", "compile,max-autotune",
/// "compile,max-autotune-no-cudagraphs", "compile,budget=0.5",
/// "compile,freezing", "compile,freezing=discard",
/// "compile,breaks=layer1.0|layer2", "compile,only=auto",
/// "compile,only=layers.*|head", "onnxruntime",
/// "onnxruntime,level=basic,search=heuristic,arena=exact,nhwc,overrides",
/// "tensorrt", "tensorrt,int8,sparse".
std::string ToString(const RuntimeSpec& spec);
/// Reads what ToString writes, options in any order; empty for another text.
std::optional<RuntimeSpec> FindRuntime(std::string_view text);
/// As FindRuntime. Throws Error(kInvalidArgument) that begins with `flag` and
/// lists what there is.
RuntimeSpec ParseRuntime(std::string_view flag, std::string_view text);
/// Reads runtimes, each with its options behind it:
/// "eager,compile,max-autotune,tensorrt". Errors as ParseRuntime.
std::vector<RuntimeSpec> ParseRuntimes(std::string_view flag,
                                       std::string_view text);

}  // namespace foretell
