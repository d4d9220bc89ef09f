#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "frontends/onnx/evaluator.h"
#include "frontends/onnx/fusion/fuse.h"
#include "frontends/onnx/onnx_program.h"
#include "frontends/onnx/reader/liveness.h"
#include "frontends/onnx/unsupported.h"
#include "src/core/failure.h"
#include "src/core/text.h"

namespace foretell {
namespace onnx {
namespace {

/// The newest opset of the standard operators whose rules are known.
constexpr std::int64_t kNewestOpset = 28;

InputSpec ToSpec(const ValueInfo& info) {
  InputSpec spec{.name = info.name};
  if (info.type.kind != TypeInfo::Kind::kTensor) return spec;
  spec.dtype = DTypeOfCode(info.type.elem_type);
  if (!info.type.shape) return spec;
  spec.dims.emplace();
  for (const Dim& dim : *info.type.shape) {
    spec.dims->push_back({.value = dim.value, .symbol = dim.symbol});
  }
  return spec;
}

/// Refuses strings and floats of 6 bits, which ATen cannot store.
void RefuseUnstorable(const Model& model, const ValueInfo& input) {
  const std::int32_t code = input.type.elem_type;
  const bool has_type = input.type.kind == TypeInfo::Kind::kTensor && code != 0;
  if (!has_type || DTypeOfCode(code)) return;
  throw Unsupported(
      "{}: input '{}' has elements of type {}, which is not supported",
      model.path, input.name, DataTypeName(code));
}

std::vector<InputSpec> ToSpecs(const Model& model) {
  std::unordered_set<std::string_view> initialized;
  for (const TensorLiteral& tensor : model.graph.initializers) {
    initialized.insert(tensor.name);
  }
  std::vector<InputSpec> specs;
  for (const ValueInfo& input : model.graph.inputs) {
    if (initialized.contains(input.name)) continue;
    RefuseUnstorable(model, input);
    specs.push_back(ToSpec(input));
  }
  return specs;
}

/// What operators mean in an unknown version could only be guessed.
void RefuseNewerOpsets(const Model& model) {
  const auto found = model.opset_imports.find("");
  if (found == model.opset_imports.end() || found->second <= kNewestOpset) {
    return;
  }
  throw Unsupported("{}: imports version {} of ai.onnx, expected at most {}",
                    model.path, found->second, kNewestOpset);
}

bool HasOperator(const Model& model, std::string_view name) {
  return std::any_of(model.graph.nodes.begin(), model.graph.nodes.end(),
                     [&](const Node& node) { return node.op_type == name; });
}

/// Leading dimension that the file fixes for the graph's first input; empty
/// when it is free.
std::optional<std::int64_t> FixedBatch(const std::vector<InputSpec>& specs) {
  if (specs.empty() || !specs.front().dims || specs.front().dims->empty()) {
    return std::nullopt;
  }
  return specs.front().dims->front().value;
}

class OnnxInstance final : public ProgramInstance {
 public:
  OnnxInstance(std::shared_ptr<const Model> model,
               std::optional<std::int64_t> fixed_batch,
               const InstanceOptions& options)
      : model_(std::move(model)),
        fixed_batch_(fixed_batch),
        evaluator_(*model_, options) {}

  std::vector<at::Tensor> Forward(std::vector<at::Tensor> inputs) override {
    std::optional<std::int64_t> batch;
    if (!inputs.empty() && inputs.front().dim() > 0) {
      batch = inputs.front().size(0);
    }
    std::vector<Value> values(std::make_move_iterator(inputs.begin()),
                              std::make_move_iterator(inputs.end()));
    inputs.clear();
    std::vector<Value> results = evaluator_.Run(std::move(values));
    values.clear();
    if (fixed_batch_ && batch && *batch != *fixed_batch_) {
      RefuseBakedBatch(results, *batch);
    }
    return Flatten(results);
  }

  std::vector<std::string> OutputNames() const override {
    return output_names_;
  }

  std::vector<NamedTensor> Parameters() const override {
    return evaluator_.parameters();
  }
  std::vector<NamedTensor> Buffers() const override {
    return evaluator_.buffers();
  }
  std::string CurrentScope() const override {
    return evaluator_.current_scope();
  }
  /// The exporter names a node by the modules that ran it:
  /// "/layer1/layer1.0/conv1/Conv".
  std::vector<std::string> CurrentCalls() const override {
    std::vector<std::string> calls;
    std::string_view name = evaluator_.current_scope();
    if (!name.starts_with('/')) return calls;
    name.remove_prefix(1);
    for (std::size_t slash = name.find('/'); slash != std::string_view::npos;
         slash = name.find('/')) {
      calls.emplace_back(name.substr(0, slash));
      name.remove_prefix(slash + 1);
    }
    return calls;
  }
  std::vector<std::string> UntraceableOperators() const override {
    return DataDependentOperators(*model_);
  }

 private:
  /// An output that the file declares with the file's batch must follow another
  /// batch; if it does not, a constant in the graph has swallowed the batch.
  void RefuseBakedBatch(const std::vector<Value>& results,
                        std::int64_t batch) const {
    for (std::size_t i = 0; i < results.size(); ++i) {
      const ValueInfo& declared = model_->graph.outputs[i];
      const auto* tensor = std::get_if<at::Tensor>(&results[i]);
      if (tensor == nullptr || !declared.type.shape ||
          declared.type.shape->empty() || tensor->dim() == 0) {
        continue;
      }
      const std::optional<std::int64_t> leading =
          declared.type.shape->front().value;
      if (leading != fixed_batch_ || tensor->size(0) == batch) continue;
      throw InvalidArgument(
          "{}: output '{}' has leading dimension {} at batch {}: the batch of "
          "{} is baked into the graph; export it with a dynamic batch",
          model_->path, declared.name, tensor->size(0), batch, *fixed_batch_);
    }
  }

  /// The tensors of `values`, those of a sequence "name.0", "name.1" and so on.
  std::vector<at::Tensor> Flatten(const std::vector<Value>& values) {
    std::vector<at::Tensor> tensors;
    output_names_.clear();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::string& name = model_->graph.outputs[i].name;
      if (const auto* tensor = std::get_if<at::Tensor>(&values[i])) {
        tensors.push_back(*tensor);
        output_names_.push_back(name);
      } else if (const auto* sequence = std::get_if<Sequence>(&values[i])) {
        for (std::size_t k = 0; k < sequence->size(); ++k) {
          tensors.push_back((*sequence)[k]);
          output_names_.push_back(fmt::format("{}.{}", name, k));
        }
      }
    }
    return tensors;
  }

  std::shared_ptr<const Model> model_;
  std::optional<std::int64_t> fixed_batch_;
  Evaluator evaluator_;
  std::vector<std::string> output_names_;  ///< Of the last run.
};

/// The weights in the file, including copies that no operator needs.
struct FileWeights {
  std::int64_t floats = 0;
  std::map<DType, std::int64_t> by_type;
};

class OnnxSource final : public Program::Source {
 public:
  OnnxSource(Model model, FileWeights weights)
      : model_(std::make_shared<const Model>(std::move(model))),
        weights_(std::move(weights)),
        inputs_(ToSpecs(*model_)) {}

  std::string_view format() const override { return "onnx"; }
  std::span<const InputSpec> inputs() const override { return inputs_; }
  std::int64_t parameter_elements() const override { return weights_.floats; }
  std::map<DType, std::int64_t> weight_elements() const override {
    return weights_.by_type;
  }

  std::vector<std::string> warnings(Mode mode) const override {
    std::vector<std::string> warnings;
    if (mode != Mode::kTraining) return warnings;
    if (HasOperator(*model_, "Conv") &&
        !HasOperator(*model_, "BatchNormalization")) {
      warnings.emplace_back(
          "training of an inference export: batch norms, if there were any, "
          "are folded into the convolutions and cannot be seen");
    }
    if (!HasOperator(*model_, "Dropout")) {
      warnings.emplace_back(
          "training of an inference export: dropout, if there was any, is not "
          "in the file");
    }
    return warnings;
  }

  std::unique_ptr<ProgramInstance> Instantiate(
      const InstanceOptions& options) const override {
    return std::make_unique<OnnxInstance>(model_, FixedBatch(inputs_), options);
  }

 private:
  std::shared_ptr<const Model> model_;
  FileWeights weights_;
  std::vector<InputSpec> inputs_;
};

}  // namespace

Program MakeProgram(Model model, const LoadOptions& options) {
  RefuseNewerOpsets(model);
  const std::vector<std::string> missing = UnsupportedOperators(model);
  if (!missing.empty()) {
    throw Unsupported("{}: operators that are not supported: {}", model.path,
                      Joined(missing, "; "));
  }
  const std::string path = model.path;
  FileWeights weights = {model.FloatInitializerElements(),
                         model.WeightElements()};
  model = RecogniseFusedPatterns(std::move(model), options.fusion);
  return Program(
      path, std::make_shared<OnnxSource>(std::move(model), std::move(weights)));
}

Program ReadProgram(RegularFile file, const LoadOptions& options) {
  return MakeProgram(ReadModel(std::move(file)), options);
}

}  // namespace onnx

}  // namespace foretell
