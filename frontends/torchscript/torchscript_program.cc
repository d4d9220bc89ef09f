#include <ATen/ScalarOps.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/interned_strings.h>
#include <c10/util/Exception.h>
#include <fmt/core.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/runtime/interpreter.h>
#include <torch/csrc/jit/runtime/print_handler.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <utility>

#include "foretell/error.h"
#include "foretell/frontends.h"
#include "foretell/trace.h"
#include "frontends/torchscript/archive.h"
#include "frontends/torchscript/computed_defaults.h"
#include "frontends/torchscript/frozen_weights.h"
#include "frontends/torchscript/guarded_operators.h"
#include "frontends/torchscript/loaded_values.h"
#include "frontends/torchscript/made_mode.h"
#include "frontends/torchscript/module_on_device.h"
#include "frontends/torchscript/operators.h"
#include "frontends/torchscript/passes.h"
#include "frontends/torchscript/run_scope.h"
#include "frontends/torchscript/safety.h"
#include "frontends/torchscript/silent_warnings.h"
#include "src/core/failure.h"
#include "src/core/libtorch_message.h"
#include "src/core/text.h"
#include "src/program/recorder.h"
#include "src/program/weight_warnings.h"

namespace foretell {
namespace torchscript {
namespace {

bool IsTensorList(const c10::Type& type) {
  const auto* list = type.castRaw<c10::ListType>();
  return list != nullptr &&
         list->getElementType()->kind() == c10::TypeKind::TensorType;
}

bool IsOptionalTensor(const c10::Type& type) {
  const auto* optional = type.castRaw<c10::OptionalType>();
  return optional != nullptr &&
         optional->getElementType()->kind() == c10::TypeKind::TensorType;
}

/// Arguments of `forward` that the caller must give, then tensors that it may;
/// throws Error(kUnsupported) for a required one that is neither a tensor nor a
/// list of tensors.
std::vector<c10::Argument> TensorArguments(const std::string& path,
                                           const torch::jit::Module& module) {
  std::vector<c10::Argument> found;
  const auto& arguments =
      module.get_method("forward").function().getSchema().arguments();
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const c10::Argument& argument = arguments[i];
    const c10::Type& type = *argument.type();
    const bool has_default = argument.default_value().has_value();
    if (has_default && !IsOptionalTensor(type)) continue;
    if (!has_default && type.kind() != c10::TypeKind::TensorType &&
        !IsTensorList(type)) {
      throw Unsupported(
          "{}: forward takes '{}' of type {}, expected a tensor or a list of "
          "tensors",
          path, argument.name(), type.annotation_str());
    }
    found.push_back(argument);
  }
  return found;
}

/// Those of `arguments` that are `named`; without names those without a
/// default.
std::vector<c10::Argument> Given(std::vector<c10::Argument> arguments,
                                 const std::vector<std::string>& named) {
  std::erase_if(arguments, [&](const c10::Argument& one) {
    return one.default_value().has_value() &&
           std::ranges::count(named, one.name()) == 0;
  });
  return arguments;
}

/// "pair", "pair.first", or "" if neither has a name.
std::string Path(const std::string& outer, const std::string& name) {
  return outer.empty() || name.empty() ? outer + name : outer + "." + name;
}

/// Lists the tensors and numbers of a result under the names that the file has
/// for them: fields of a named tuple, keys of a dictionary.
void Flatten(const c10::IValue& value, const std::string& name,
             std::vector<NamedTensor>& tensors) {
  if (value.isTensor()) {
    if (value.toTensor().defined()) tensors.push_back({name, value.toTensor()});
  } else if (value.isScalar()) {
    tensors.push_back({name, c10::scalar_to_tensor(value.toScalar())});
  } else if (value.isTuple()) {
    const auto& schema = value.type()->expectRef<c10::TupleType>().schema();
    const auto& elements = value.toTupleRef().elements();
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const std::string field = schema ? schema->arguments()[i].name() : "";
      Flatten(elements[i], Path(name, field), tensors);
    }
  } else if (value.isList()) {
    for (const c10::IValue& element : value.toListRef()) {
      Flatten(element, name, tensors);
    }
  } else if (value.isGenericDict()) {
    for (const auto& entry : value.toGenericDict()) {
      const bool has_name = entry.key().isString();
      Flatten(entry.value(),
              Path(name, has_name ? entry.key().toStringRef() : ""), tensors);
    }
  }
}

/// While it lives, the file's code decides what runs: only shape arithmetic is
/// really computed (host_operators.h). Afterwards the recording of gradients is
/// restored.
class ForeignCode {
 public:
  ForeignCode(c10::DeviceType device, ModeChange change)
      : scope_(device, change) {
    Restrict(true);
  }
  ~ForeignCode() { Restrict(false); }
  ForeignCode(const ForeignCode&) = delete;
  ForeignCode& operator=(const ForeignCode&) = delete;

 private:
  static void Restrict(bool restricts) {
    if (Recorder* const recorder = Recorder::Current()) {
      recorder->RestrictHost(restricts);
    }
  }

  c10::AutoGradMode grad_mode_{c10::GradMode::is_enabled()};
  SilentWarnings silent_;
  RunScope scope_;
};

/// New tensors for all that `module` holds, and the weights in its code.
ModuleTensors TensorsOf(torch::jit::Module& module, Making making,
                        const InstanceOptions& options) {
  ModuleTensors tensors = ReplaceTensors(module, options);
  if (making != Making::kFrozen) return tensors;
  ModuleTensors frozen = FrozenTensors(module);
  std::ranges::move(frozen.parameters, std::back_inserter(tensors.parameters));
  std::ranges::move(frozen.buffers, std::back_inserter(tensors.buffers));
  return tensors;
}

/// What the code of a file states, however often it is loaded.
struct FileFacts {
  std::string path;
  std::vector<c10::Argument> arguments;  ///< TensorArguments of `forward`.
  Making making = Making::kTraced;
  ModeFlags flags;
};

class TorchScriptInstance final : public ProgramInstance {
 public:
  TorchScriptInstance(const FileFacts& facts, torch::jit::Module module,
                      const InstanceOptions& options)
      : path_(facts.path),
        module_(std::move(module)),
        arguments_(Given(facts.arguments, options.inputs)),
        precision_(options.precision),
        device_(options.device.type()),
        change_(facts.flags.For(options.mode)),
        tensors_(TensorsOf(module_, facts.making, options)) {}

  std::vector<at::Tensor> Forward(std::vector<at::Tensor> inputs) override {
    std::vector<c10::IValue> arguments;
    torch::jit::Kwargs optional;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (arguments_[i].default_value().has_value()) {
        optional[arguments_[i].name()] = std::move(inputs[i]);
      } else if (IsTensorList(*arguments_[i].type())) {
        arguments.emplace_back(c10::List<at::Tensor>({std::move(inputs[i])}));
      } else {
        arguments.emplace_back(std::move(inputs[i]));
      }
    }
    inputs.clear();
    Recorder* const recorder = Recorder::Current();
    const ForeignCode foreign(device_, change_);
    try {
      return Outputs(module_.forward(std::move(arguments), optional));
    } catch (const Error& error) {
      throw WithHint(error);
    } catch (const c10::NotImplementedError& error) {
      if (recorder != nullptr) recorder->RethrowFailure();
      throw Unsupported("{}: {}", path_,
                        MissingKernel(error.what_without_backtrace()));
    } catch (const std::exception& error) {
      if (recorder != nullptr) RethrowFailure(*recorder);
      throw InvalidArgument("{}: {}{}", path_, LastLine(error.what()),
                            PrecisionHint());
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
    return OperatorsWithoutMetaKernel(module_);
  }

  std::string CurrentScope() const override {
    std::vector<std::string> names;
    for (const std::string& module : RunningModules()) {
      names.push_back(module.substr(0, module.find('(')));
    }
    return Joined(names, ".");
  }

  /// Lists and dicts of modules are part of a path, but are not called.
  std::vector<std::string> CurrentCalls() const override {
    std::vector<std::string> calls = RunningModules();
    std::erase_if(calls, [](const std::string& module) {
      return module.ends_with("(ModuleList)") ||
             module.ends_with("(ModuleDict)");
    });
    return calls;
  }

 private:
  /// "blocks(Sequential)", "0(Block)": without the network itself.
  static std::vector<std::string> RunningModules() {
    std::vector<std::string> modules = torch::jit::currentModuleHierarchy();
    std::erase_if(modules, [](const std::string& module) {
      return module.starts_with("TOP(");
    });
    return modules;
  }

  std::vector<at::Tensor> Outputs(const c10::IValue& result) {
    std::vector<NamedTensor> named;
    Flatten(result, "", named);
    std::vector<at::Tensor> outputs;
    output_names_.clear();
    for (NamedTensor& output : named) {
      outputs.push_back(std::move(output.tensor));
      output_names_.push_back(std::move(output.name));
    }
    return outputs;
  }

  /// The interpreter puts its call stack before the message that matters.
  static std::string LastLine(const std::string& text) {
    const std::size_t runtime = text.rfind("RuntimeError: ");
    return LibTorchMessage(
        runtime == std::string::npos ? text : text.substr(runtime + 14));
  }

  /// "Could not run 'torchvision::nms' …" without the advice for developers.
  static std::string MissingKernel(const std::string& text) {
    const std::string line = LastLine(text);
    const std::size_t advice = line.find(". This could be because");
    if (advice == std::string::npos) return line;
    return line.substr(0, advice) +
           ": LibTorch alone has no such kernel; an ONNX export may work";
  }

  /// Throws what the recorder threw, if anything; the interpreter has replaced
  /// it.
  void RethrowFailure(const Recorder& recorder) const {
    try {
      recorder.RethrowFailure();
    } catch (const Error& error) {
      throw WithHint(error);
    }
  }

  Error WithHint(const Error& error) const {
    if (error.code() != ErrorCode::kInvalidArgument) return error;
    return Error(error.code(), error.what() + PrecisionHint());
  }

  /// A trace keeps the element types of its export.
  std::string PrecisionHint() const {
    if (!CastsWeights(precision_)) return "";
    return fmt::format(" (run at {}; does the file fix an element type?)",
                       PrecisionName(precision_));
  }

  std::string path_;
  torch::jit::Module module_;
  std::vector<c10::Argument> arguments_;
  Precision precision_;
  c10::DeviceType device_;
  ModeChange change_;
  ModuleTensors tensors_;
  std::vector<std::string> output_names_;  ///< Of the last run.
};

/// Loads the slim archive once per kind of device and precision: graph
/// constants are moved and cast before the first run and stay as they are.
class TorchScriptSource final : public Program::Source {
 public:
  TorchScriptSource(std::string path, std::string archive)
      : facts_{.path = std::move(path)}, archive_(std::move(archive)) {
    torch::jit::Module module = Load();
    facts_.arguments = TensorArguments(facts_.path, module);
    facts_.making = MakingOf(module);
    facts_.flags = FlagsOf(module);
    for (const c10::Argument& argument : facts_.arguments) {
      inputs_.push_back({.name = argument.name(),
                         .is_optional = argument.default_value().has_value()});
    }
    weight_elements_ = WeightElements(module);
    std::set<const at::TensorImpl*> counted;
    for (const at::Tensor& parameter : module.parameters()) {
      if (!counted.insert(parameter.unsafeGetTensorImpl()).second) continue;
      parameter_elements_ += parameter.numel();
    }
    if (facts_.making == Making::kFrozen) CountFrozen(module);
    // The options of most runs.
    KeepFor({}, std::move(module));
  }

  std::map<DType, std::int64_t> weight_elements() const override {
    return weight_elements_;
  }

  std::string_view format() const override { return "torchscript"; }
  std::span<const InputSpec> inputs() const override { return inputs_; }
  std::int64_t parameter_elements() const override {
    return parameter_elements_;
  }

  std::vector<std::string> warnings(Mode mode) const override {
    if (facts_.making == Making::kFrozen && mode == Mode::kTraining) {
      return {
          "is frozen (torch.jit.freeze): its weights are constants, which "
          "nothing trains, and batch norm and dropout do not train; save the "
          "network before it is frozen"};
    }
    std::string switched =
        ModeWarning(facts_.flags.For(mode), "traced", "trace");
    if (switched.empty()) return {};
    return {std::move(switched)};
  }

  std::unique_ptr<ProgramInstance> Instantiate(
      const InstanceOptions& options) const override {
    return std::make_unique<TorchScriptInstance>(facts_, ModuleOn(options),
                                                 options);
  }

 private:
  using Place = std::pair<c10::DeviceType, Precision>;

  torch::jit::Module& ModuleOn(const InstanceOptions& options) const {
    const Place place(options.device.type(), options.precision);
    const auto found = modules_.find(place);
    if (found != modules_.end()) return found->second;
    return KeepFor(options, Load());
  }

  torch::jit::Module& KeepFor(const InstanceOptions& options,
                              torch::jit::Module module) const {
    MoveConstants(module, options);
    MakeStatesAs(module, options.precision);
    CallThroughContainers(module);
    CallAsEagerCode(module);
    FollowMode(module);
    EnterAutocast(module);
    BreakChains(module);
    const Place place(options.device.type(), options.precision);
    return modules_.emplace(place, std::move(module)).first->second;
  }

  void CountFrozen(const torch::jit::Module& module) {
    for (const NamedTensor& weight : FrozenTensors(module).parameters) {
      const std::int64_t elements = weight.tensor.numel();
      parameter_elements_ += elements;
      weight_elements_[ToDType(weight.tensor.scalar_type())] += elements;
    }
  }

  torch::jit::Module Load() const {
    const UnrecordedScope unrecorded(TensorRole::kBuffer);
    const SilentWarnings silent;
    try {
      std::istringstream stream(archive_);
      torch::jit::Module module = torch::jit::load(stream, at::kCPU);
      if (!module.find_method("forward")) {
        throw Unsupported("{}: the module has no method 'forward'",
                          facts_.path);
      }
      RefuseUnsafeFunctions(facts_.path, *module._ivalue()->compilation_unit());
      CheckLoadedValues(facts_.path, module);
      return module;
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      throw Corrupt("{}: LibTorch cannot load it: {}", facts_.path,
                    LibTorchMessage(error.what()));
    }
  }

  FileFacts facts_;
  std::string archive_;
  std::vector<InputSpec> inputs_;
  std::int64_t parameter_elements_ = 0;
  std::map<DType, std::int64_t> weight_elements_;
  mutable std::map<Place, torch::jit::Module> modules_;
};

}  // namespace

void Prepare() {
  static std::once_flag once;
  std::call_once(once, [] {
    InitializeTracing();
    // Makes the executor run the graph as written: no fusion, no profiles.
    torch::jit::setGraphExecutorOptimize(false);
    torch::jit::setPrintHandler([](const std::string&) {});
    GuardOperators();
    torch::jit::Module("__torch__.Any")
        .define("def forward(self, x):\n    return torch.relu(x)\n");
  });
}

Program ReadProgram(RegularFile file) {
  const std::string path = file.path;
  Prepare();
  SlimArchive archive = ReadSlimArchive(std::move(file));
  RefuseUnsafeCode(path, archive.code);
  RefuseComputedDefaults(path, archive.code);
  return Program(path, std::make_shared<TorchScriptSource>(
                           path, std::move(archive.bytes)));
}

}  // namespace torchscript

Program LoadTorchScript(const std::string& path) {
  return torchscript::ReadProgram(OpenRegularFile(path, kAnySize));
}

}  // namespace foretell
