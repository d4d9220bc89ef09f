// A network of the zoo as a Program.

#include <c10/util/Exception.h>

#include <nlohmann/json.hpp>
#include <unordered_set>

#include "datasets/zoo/module_scope.h"
#include "datasets/zoo/selection.h"
#include "foretell/error.h"
#include "foretell/trace.h"
#include "foretell/zoo.h"
#include "src/core/text.h"
#include "src/program/factory_scope.h"

namespace foretell::zoo {
namespace {

/// Builds the network; a configuration that torch::nn refuses is reported as
/// the caller's mistake.
std::shared_ptr<Network> Make(const Configuration& configuration,
                              const std::string& name, at::Device device,
                              at::ScalarType dtype) {
  const FactoryScope defaults(device, dtype);
  try {
    return configuration.Make();
  } catch (const Error& error) {
    throw WithContext(name, error);
  } catch (const c10::Error& error) {
    throw Error(ErrorCode::kInvalidArgument,
                name + ": " + FirstLine(error.what_without_backtrace()));
  }
}

class ZooInstance final : public ProgramInstance {
 public:
  ZooInstance(std::shared_ptr<Network> network, Mode mode)
      : network_(std::move(network)), paths_(*network_) {
    network_->train(mode == Mode::kTraining);
  }

  std::vector<at::Tensor> Forward(std::vector<at::Tensor> inputs) override {
    return network_->Run(inputs);
  }

  std::optional<NamedLoss> Loss(
      const std::vector<at::Tensor>& inputs,
      const std::vector<at::Tensor>& outputs) override {
    return network_->Loss(inputs, outputs);
  }

  std::vector<NamedTensor> Parameters() const override {
    return Once(network_->named_parameters());
  }
  std::vector<NamedTensor> Buffers() const override {
    return Once(network_->named_buffers());
  }
  std::string CurrentScope() const override { return paths_.Current(); }

 private:
  /// Weights that modules share appear under their first name.
  static std::vector<NamedTensor> Once(
      const torch::OrderedDict<std::string, at::Tensor>& all) {
    std::vector<NamedTensor> tensors;
    std::unordered_set<const at::TensorImpl*> seen;
    for (const auto& item : all) {
      if (!seen.insert(item.value().unsafeGetTensorImpl()).second) continue;
      tensors.push_back({item.key(), item.value()});
    }
    return tensors;
  }

  std::shared_ptr<Network> network_;
  ModulePaths paths_;
};

class ZooSource final : public Program::Source {
 public:
  explicit ZooSource(Selection selection)
      : name_(selection.FullName()),
        configuration_(std::move(selection.configuration)),
        warnings_(std::move(selection.warnings)),
        stated_dtype_(selection.stated_dtype),
        inputs_(configuration_->Inputs()) {
    const std::shared_ptr<Network> network =
        Make(*configuration_, name_, at::kMeta, at::kFloat);
    std::unordered_set<const at::TensorImpl*> seen;
    for (const at::Tensor& parameter : network->parameters()) {
      if (!seen.insert(parameter.unsafeGetTensorImpl()).second) continue;
      parameter_elements_ += parameter.numel();
    }
  }

  std::string_view format() const override { return "zoo"; }
  std::span<const InputSpec> inputs() const override { return inputs_; }
  std::int64_t parameter_elements() const override {
    return parameter_elements_;
  }
  std::vector<std::string> warnings(Mode) const override { return warnings_; }
  std::optional<DType> stated_dtype() const override { return stated_dtype_; }

  std::unique_ptr<ProgramInstance> Instantiate(
      const InstanceOptions& options) const override {
    return std::make_unique<ZooInstance>(
        Make(*configuration_, name_, options.device,
             ToScalarType(DType::kF32, options.precision)),
        options.mode);
  }

 private:
  std::string name_;
  std::unique_ptr<Configuration> configuration_;
  std::vector<std::string> warnings_;
  std::optional<DType> stated_dtype_;
  std::vector<InputSpec> inputs_;
  std::int64_t parameter_elements_ = 0;
};

}  // namespace

Program Load(std::string_view name) {
  InitializeTracing();
  Selection selection = Select(name);
  const std::string full_name = selection.FullName();
  return Program(full_name, std::make_shared<ZooSource>(std::move(selection)));
}

Description Describe(std::string_view name) {
  const Selection selection = Select(name);
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const Field& field : selection.configuration->Fields()) {
    std::visit([&](const auto& value) { json[field.name] = value; },
               field.value);
  }
  return {std::string(selection.family->name), json.dump(2)};
}

}  // namespace foretell::zoo
