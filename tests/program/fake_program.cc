#include "tests/program/fake_program.h"

#include <utility>

#include "tests/program/running_module.h"

namespace foretell::program_test {
namespace {

constexpr double kWeightDeviation = 0.1;

thread_local std::string running = "net";

class FakeInstance final : public ProgramInstance {
 public:
  FakeInstance(const Network& network, const InstanceOptions& options)
      : weights_(options), forward_(network(weights_)) {}

  Tensors Forward(Tensors inputs) override {
    return forward_(std::move(inputs));
  }
  std::vector<NamedTensor> Parameters() const override {
    return weights_.parameters();
  }
  std::vector<NamedTensor> Buffers() const override {
    return weights_.buffers();
  }
  std::string CurrentScope() const override { return running; }

 private:
  Weights weights_;
  program_test::Forward forward_;
};

class FakeSource final : public Program::Source {
 public:
  FakeSource(const std::vector<BoundInput>& inputs, Network network)
      : network_(std::move(network)) {
    for (const BoundInput& input : inputs) {
      InputSpec spec{.name = input.name, .dtype = input.type.dtype};
      spec.dims.emplace();
      for (const std::int64_t size : input.type.shape) {
        spec.dims->push_back({.value = size, .symbol = {}});
      }
      specs_.push_back(std::move(spec));
    }
    Weights weights({});
    network_(weights);
    for (const NamedTensor& parameter : weights.parameters()) {
      parameter_elements_ += parameter.tensor.numel();
    }
  }

  std::string_view format() const override { return "fake"; }
  std::span<const InputSpec> inputs() const override { return specs_; }
  std::int64_t parameter_elements() const override {
    return parameter_elements_;
  }
  std::vector<std::string> warnings(Mode) const override { return {}; }
  std::unique_ptr<ProgramInstance> Instantiate(
      const InstanceOptions& options) const override {
    return std::make_unique<FakeInstance>(network_, options);
  }

 private:
  Network network_;
  std::vector<InputSpec> specs_;
  std::int64_t parameter_elements_ = 0;
};

}  // namespace

RunningModule::RunningModule(std::string path)
    : outer_(std::exchange(running, std::move(path))) {}

RunningModule::~RunningModule() { running = std::move(outer_); }

at::Tensor Weights::Own(const std::string& name, at::Tensor tensor) {
  if (training()) tensor.set_requires_grad(true);
  parameters_.push_back({name, tensor});
  return tensor;
}

at::Tensor Weights::Parameter(const std::string& name, at::IntArrayRef shape) {
  const auto options = at::TensorOptions()
                           .dtype(ToScalarType(DType::kF32, options_.precision))
                           .device(options_.device);
  if (options_.device.is_meta()) return Own(name, at::empty(shape, options));
  return Own(name, at::randn(shape, options).mul_(kWeightDeviation));
}

at::Tensor Weights::Ones(const std::string& name, std::int64_t size) {
  return Own(
      name,
      at::ones({size}, at::TensorOptions()
                           .dtype(ToScalarType(DType::kF32, options_.precision))
                           .device(options_.device)));
}

at::Tensor Weights::Buffer(const std::string& name, const at::Tensor& value) {
  at::ScalarType type = value.scalar_type();
  if (type == at::kFloat) type = ToScalarType(DType::kF32, options_.precision);
  const auto options = at::TensorOptions().dtype(type).device(options_.device);
  at::Tensor tensor = at::empty(value.sizes(), options);
  if (!options_.device.is_meta()) tensor.copy_(value);
  buffers_.push_back({name, tensor});
  return tensor;
}

Program FakeProgram(std::string name, const std::vector<BoundInput>& inputs,
                    Network network) {
  return Program(std::move(name),
                 std::make_shared<FakeSource>(inputs, std::move(network)));
}

Network Stateless(std::function<at::Tensor(const at::Tensor&)> function) {
  return [function = std::move(function)](Weights&) -> Forward {
    return
        [function](Tensors inputs) -> Tensors { return {function(inputs[0])}; };
  };
}

std::vector<BoundInput> FixedInputs(const Program& program) {
  return BindInputs(program.inputs(), {}, program.name());
}

}  // namespace foretell::program_test
