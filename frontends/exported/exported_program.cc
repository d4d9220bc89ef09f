#include "frontends/exported/exported_program.h"

#include <ATen/ScalarOps.h>
#include <c10/util/Exception.h>
#include <fmt/core.h>

#include <memory>
#include <utility>

#include "foretell/error.h"
#include "foretell/trace.h"
#include "frontends/exported/archive.h"
#include "frontends/exported/interpreter.h"
#include "frontends/exported/read_model.h"
#include "frontends/exported/shared_weights.h"
#include "frontends/exported/sizes.h"
#include "frontends/exported/tensors.h"
#include "frontends/exported/unknown_operators.h"
#include "src/core/libtorch_message.h"
#include "src/core/text.h"
#include "src/program/named_types.h"
#include "src/program/recorder.h"
#include "src/program/weight_warnings.h"

namespace foretell::exported {
namespace {

using Values = std::vector<c10::IValue>;

/// What a source and its instances share.
struct Contents {
  std::string path;
  Archive archive;
  Model model;
};

/// No switch if the file states that it was made in `mode`.
ModeSwitch SwitchOf(const Contents& contents, Mode mode) {
  if (contents.archive.mode == ModeName(mode)) return {};
  return {contents.model, mode};
}

/// Lists the tensors of a result, and its numbers as tensors on the CPU.
void Flatten(const c10::IValue& value, std::vector<at::Tensor>& tensors) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) tensors.push_back(value.toTensor());
  } else if (value.isScalar()) {
    tensors.push_back(c10::scalar_to_tensor(value.toScalar()));
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) {
      Flatten(element, tensors);
    }
  }
}

/// What NamedTypesScope asks for, if all weights of floats have one type.
std::optional<TypeChange> TypeChangeOf(const Model& model,
                                       const InstanceOptions& options) {
  if (!NamedTypesScope::IsActive()) return std::nullopt;
  std::optional<at::ScalarType> weights;
  for (const auto& [dtype, _] : WeightElements(model)) {
    const at::ScalarType type = ToScalarType(dtype);
    if (!at::isFloatingType(type)) continue;
    if (weights) return std::nullopt;
    weights = type;
  }
  if (!weights) return std::nullopt;
  return TypeChange{*weights, StoredAs(*weights, options.precision)};
}

class ExportedInstance final : public ProgramInstance {
 public:
  ExportedInstance(std::shared_ptr<const Contents> contents,
                   const InstanceOptions& options)
      : contents_(std::move(contents)),
        precision_(options.precision),
        tensors_(MakeTensors(contents_->model, contents_->archive, options)),
        interpreter_(options.device.type(), SwitchOf(*contents_, options.mode),
                     {contents_->model.graph, options.precision},
                     TypeChangeOf(contents_->model, options)) {}

  std::vector<at::Tensor> Forward(std::vector<at::Tensor> inputs) override {
    Recorder* const recorder = Recorder::Current();
    try {
      return Run(std::move(inputs));
    } catch (const Error& error) {
      throw InPlace(error.code(), error.what());
    } catch (const std::exception& error) {
      RethrowFailure(recorder);
      const auto* missing =
          dynamic_cast<const c10::NotImplementedError*>(&error);
      const auto* raised = dynamic_cast<const c10::Error*>(&error);
      throw InPlace(missing == nullptr ? ErrorCode::kInvalidArgument
                                       : ErrorCode::kUnsupported,
                    LibTorchMessage(raised == nullptr
                                        ? error.what()
                                        : raised->what_without_backtrace()));
    }
  }

  std::vector<std::string> OutputNames() const override {
    return output_names_;
  }
  std::vector<NamedTensor> Parameters() const override {
    return tensors_.parameters;
  }
  std::vector<NamedTensor> Buffers() const override { return tensors_.buffers; }
  bool NamesDevices() const override { return true; }

  std::vector<std::string> UntraceableOperators() const override {
    return OperatorsWithoutMetaKernel(contents_->model.graph);
  }

  std::string CurrentScope() const override {
    const Node* node = interpreter_.current();
    return node == nullptr ? "" : node->scope;
  }
  std::vector<std::string> CurrentCalls() const override {
    const Node* node = interpreter_.current();
    return node == nullptr ? std::vector<std::string>() : node->calls;
  }

 private:
  std::vector<at::Tensor> Run(std::vector<at::Tensor> inputs) {
    const Model& model = contents_->model;
    Values arguments = Arguments(std::move(inputs));
    std::vector<c10::IValue> written(model.inputs.size());
    for (const ModelOutput& output : model.outputs) {
      if (output.written_to < 0) continue;
      const auto place = static_cast<std::size_t>(output.written_to);
      written[place] = arguments[place];
    }
    const Values results = interpreter_.Run(model.graph, std::move(arguments));
    std::vector<at::Tensor> tensors;
    output_names_.clear();
    for (std::size_t i = 0; i < results.size(); ++i) {
      const int place = model.outputs[i].written_to;
      if (place < 0) {
        Flatten(results[i], tensors);
        output_names_.resize(tensors.size(), model.outputs[i].name);
      } else {
        Write(written[static_cast<std::size_t>(place)], results[i]);
      }
    }
    return tensors;
  }

  /// Writes the new content of a buffer or an input into it, where eager code
  /// would have it.
  static void Write(const c10::IValue& place, const c10::IValue& value) {
    if (!place.isTensor() || !value.isTensor() ||
        place.toTensor().is_same(value.toTensor())) {
      return;
    }
    const at::AutoGradMode no_gradient(false);
    // A batch norm in the graph has saved the buffer for its backward pass,
    // which reads nothing of it in training: not a new version of it.
    place.toTensor().variable_data().copy_(value.toTensor());
  }

  Values Arguments(std::vector<at::Tensor> inputs) const {
    const Model& model = contents_->model;
    std::vector<std::vector<std::int64_t>> shapes;
    std::vector<std::int64_t> numbers;
    std::vector<at::Tensor> tensors;
    auto given = inputs.begin();
    for (const ModelInput& input : model.inputs) {
      if (input.kind == InputKind::kUser) {
        shapes.push_back(given->sizes().vec());
        tensors.push_back(std::move(*given++));
      } else if (IsGivenNumber(model, input)) {
        numbers.push_back((given++)->item<std::int64_t>());
      }
    }
    const Symbols symbols(model, shapes, numbers);
    Values arguments;
    std::size_t next = 0;
    for (std::size_t i = 0; i < model.inputs.size(); ++i) {
      if (tensors_.by_input[i]) {
        arguments.emplace_back(*tensors_.by_input[i]);
      } else if (model.inputs[i].kind == InputKind::kUser) {
        arguments.emplace_back(std::move(tensors.at(next++)));
      } else if (model.inputs[i].kind == InputKind::kUserSize) {
        arguments.emplace_back(symbols.ValueOf(model.inputs[i].size));
      } else {
        arguments.emplace_back();
      }
    }
    return arguments;
  }

  /// Throws what the recorder threw, if anything; LibTorch may have wrapped it.
  void RethrowFailure(const Recorder* recorder) const {
    if (recorder == nullptr) return;
    try {
      recorder->RethrowFailure();
    } catch (const Error& error) {
      throw InPlace(error.code(), error.what());
    }
  }

  /// "model.pt2: aten::linear in 'fc' … (at model.py:12)".
  Error InPlace(ErrorCode code, const std::string& what) const {
    const Node* node = interpreter_.failed();
    std::string place;
    std::string name;
    if (node != nullptr) {
      if (!node->stack.empty()) {
        const SourceLine& user = node->stack.front();
        place = fmt::format(" (at {}:{})", user.file, user.line);
      }
      if (what.find("::") == std::string::npos) name = node->target + ": ";
    }
    return Error(code, fmt::format("{}: {}{}{}{}", contents_->path, name, what,
                                   place, PrecisionHint(code)));
  }

  /// A file keeps the element types of its export.
  std::string PrecisionHint(ErrorCode code) const {
    if (!CastsWeights(precision_) || code != ErrorCode::kInvalidArgument) {
      return "";
    }
    return fmt::format(
        " (run at {}, but the file fixes element types; export the network "
        "after model.to(torch.{}))",
        PrecisionName(precision_),
        precision_ == Precision::kFp16 ? "float16" : "bfloat16");
  }

  std::shared_ptr<const Contents> contents_;
  Precision precision_;
  ModelTensors tensors_;
  Interpreter interpreter_;
  std::vector<std::string> output_names_;  ///< Of the last run.
};

class ExportedSource final : public Program::Source {
 public:
  explicit ExportedSource(std::shared_ptr<const Contents> contents)
      : contents_(std::move(contents)),
        parameter_elements_(ParameterElements(contents_->model)),
        weight_elements_(WeightElements(contents_->model)) {
    for (const ModelInput& input : contents_->model.inputs) {
      if (input.kind == InputKind::kUser) {
        inputs_.push_back(SpecOf(contents_->model, input));
      } else if (IsGivenNumber(contents_->model, input)) {
        inputs_.push_back({.name = input.name,
                           .dtype = DType::kI64,
                           .dims = std::vector<InputDim>(),
                           .fill = input.size.example.value_or(1),
                           .is_number = true});
      }
    }
  }

  std::string_view format() const override { return "exported"; }
  std::span<const InputSpec> inputs() const override { return inputs_; }
  std::int64_t parameter_elements() const override {
    return parameter_elements_;
  }
  std::map<DType, std::int64_t> weight_elements() const override {
    return weight_elements_;
  }

  std::vector<std::string> warnings(Mode mode) const override {
    const Model& model = contents_->model;
    std::vector<std::string> warnings;
    if (!contents_->archive.others.empty()) {
      warnings.push_back(fmt::format(
          "holds several models; uses '{}', not {} (select it with "
          "FILE.pt2:{})",
          contents_->archive.name, Joined(contents_->archive.others),
          contents_->archive.others.front()));
    }
    if (model.minor_version > kSchemaMinor) {
      warnings.push_back(fmt::format(
          "has version {}.{} of torch.export's schema, newer than {}.{}",
          kSchemaMajor, model.minor_version, kSchemaMajor, kSchemaMinor));
    }
    if (model.is_decomposed && mode == Mode::kTraining) {
      warnings.emplace_back(
          "holds decomposed operators (run_decompositions()): what training "
          "keeps differs from what eager PyTorch keeps");
    }
    std::string switched = SwitchOf(*contents_, mode).Warning();
    if (!switched.empty()) warnings.push_back(std::move(switched));
    return warnings;
  }

  std::unique_ptr<ProgramInstance> Instantiate(
      const InstanceOptions& options) const override {
    return std::make_unique<ExportedInstance>(contents_, options);
  }

 private:
  static InputSpec SpecOf(const Model& model, const ModelInput& input) {
    InputSpec spec{.name = input.name,
                   .dtype = ToDType(input.tensor.type),
                   .fill = input.fill};
    spec.dims.emplace();
    for (const Size& size : input.tensor.sizes) {
      InputDim dim{.value = size.example};
      dim.symbol = SymbolOf(size);
      const AllowedSizes allowed = AllowedFor(model, size);
      if (allowed.least > 0) dim.at_least = allowed.least;
      dim.at_most = allowed.most;
      spec.dims->push_back(std::move(dim));
    }
    return spec;
  }

  std::shared_ptr<const Contents> contents_;
  std::vector<InputSpec> inputs_;
  std::int64_t parameter_elements_;
  std::map<DType, std::int64_t> weight_elements_;
};

}  // namespace

Program ReadProgram(RegularFile file) {
  InitializeTracing();
  const std::string path = file.path;
  auto contents = std::make_shared<Contents>();
  contents->path = path;
  contents->archive = ReadArchive(std::move(file));
  contents->model = ReadModel(contents->archive.model, contents->path);
  contents->archive.model.clear();
  RefuseUnknownOperators(contents->path, contents->model.graph);
  NoteShared(contents->model, contents->archive);
  return Program(path, std::make_shared<ExportedSource>(std::move(contents)));
}

}  // namespace foretell::exported
