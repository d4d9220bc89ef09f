// Optimizers whose kernels PyTorch does not have.
//
// The operators are registered under the names of their libraries, with the
// operands that are read and written and without numbers. Maps of codes are no
// operands: all parameters share bitsandbytes', and one is 1 KiB.

#include "src/program/foreign_step.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>

namespace foretell {

/// A row of the table of these optimizers.
struct ForeignRow {
  Optimizer kind;
  int num_states;
  int bits;                 ///< Of an element of a state.
  std::int64_t block = 0;   ///< Elements with one scale.
  bool is_paged = false;    ///< With bitsandbytes.
  bool is_torchao = false;  ///< Else of bitsandbytes.
  /// With bitsandbytes: also weights of embeddings are codes.
  bool quantizes_tables = false;
  bool has_norm = false;  ///< With bitsandbytes: a number per parameter.
};

namespace {

constexpr ForeignRow kForeignRows[] = {
    {Optimizer::kAdamW8bit, 2, 8, 256, false, false, true},
    {Optimizer::kBnbAdamW8bit, 2, 8, 256},
    {Optimizer::kPagedAdamW, 2, 32, 0, true},
    {Optimizer::kPagedAdamW8bit, 2, 8, 256, true},
    {Optimizer::kLion, 1, 32},
    {Optimizer::kLion8bit, 1, 8, 256},
    {Optimizer::kPagedLion, 1, 32, 0, true},
    {Optimizer::kPagedLion8bit, 1, 8, 256, true},
    {Optimizer::kTorchaoAdamW8bit, 2, 8, 256, false, true},
    {Optimizer::kTorchaoAdamW4bit, 2, 4, 128, false, true},
    {Optimizer::kBnbAdamW, 2, 32},
    {Optimizer::kLamb, 2, 32, 0, false, false, false, true},
};

/// Smaller parameters keep whole states (min_8bit_size; torchao follows).
constexpr std::int64_t kFewestQuantized = 4096;
/// Smaller ones are not paged (get_state_buffer of bitsandbytes).
constexpr std::int64_t kFewestPaged = 100'000;
/// In 8 bits.
constexpr std::int64_t kNumCodes = 256;

constexpr char kUpdateWhole[] = "bitsandbytes::optimizer_update_32bit";
constexpr char kUpdateBlocks[] =
    "bitsandbytes::optimizer_update_8bit_blockwise";
constexpr char kUpdateCompiled[] = "torchao::single_param_adam";

void UpdateNothing(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  torch::jit::drop(*stack, op.schema().arguments().size());
}

void DefineUpdates() {
  // Never destroyed, as an operator's kernel may run at the end of a process.
  static auto& libraries = *new std::vector<std::unique_ptr<torch::Library>>();
  for (const std::string name :
       {kUpdateWhole, kUpdateBlocks, kUpdateCompiled}) {
    const std::size_t colons = name.find("::");
    const std::string plain = name.substr(colons + 2);
    libraries.push_back(std::make_unique<torch::Library>(
        torch::Library::FRAGMENT, name.substr(0, colons), std::nullopt,
        __FILE__, __LINE__));
    libraries.back()->def(
        (plain + "(Tensor(a!) p, Tensor g, Tensor(b!)[] states) -> ()")
            .c_str());
    libraries.back()->impl(
        plain.c_str(),
        torch::dispatch(
            c10::DispatchKey::CompositeExplicitAutograd,
            torch::CppFunction::makeFromBoxedFunction<&UpdateNothing>()));
  }
}

void Update(const char* name, const at::Tensor& parameter,
            const at::Tensor& gradient, const std::vector<at::Tensor>& states) {
  torch::jit::Stack stack = {parameter, gradient,
                             c10::List<at::Tensor>(states)};
  c10::Dispatcher::singleton().findSchemaOrThrow(name, "").callBoxed(&stack);
}

at::Tensor Floats(std::int64_t count, const at::Tensor& like) {
  return at::zeros({count}, like.options().dtype(at::kFloat));
}

}  // namespace

bool IsOneOf(at::TensorList tensors, const at::Tensor& tensor) {
  return std::ranges::any_of(
      tensors, [&](const at::Tensor& one) { return one.is_same(tensor); });
}

ForeignStep::ForeignStep(Optimizer kind)
    : row_(*std::ranges::find(kForeignRows, kind, &ForeignRow::kind)) {
  static std::once_flag once;
  std::call_once(once, &DefineUpdates);
}

void ForeignStep::Step(at::TensorList parameters, at::TensorList gradients,
                       at::TensorList tables) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const at::Tensor& parameter = parameters[i];
    const bool quantizes = Quantizes(parameter, tables);
    if (i == states_.size()) {
      states_.push_back(row_.is_torchao ? Torchao(parameter, quantizes)
                                        : Bitsandbytes(parameter, quantizes));
    }
    Update(row_.is_torchao ? kUpdateCompiled
           : quantizes     ? kUpdateBlocks
                           : kUpdateWhole,
           parameter, gradients[i], states_[i]);
  }
}

bool ForeignStep::Quantizes(const at::Tensor& parameter,
                            at::TensorList tables) const {
  if (row_.block == 0 || parameter.numel() < kFewestQuantized) return false;
  if (row_.is_torchao) return parameter.numel() % row_.block == 0;
  return row_.quantizes_tables || !IsOneOf(tables, parameter);
}

ForeignStep::States ForeignStep::Bitsandbytes(const at::Tensor& parameter,
                                              bool quantizes) {
  const at::ScalarType dtype = quantizes ? at::kByte : at::kFloat;
  const std::int64_t size = parameter.numel();
  const bool is_paged = row_.is_paged && size >= kFewestPaged;
  while (quantizes && std::ssize(maps_) < row_.num_states) {
    maps_.push_back(Floats(kNumCodes, parameter));
  }
  States states;
  for (int i = 0; i < row_.num_states; ++i) {
    if (is_paged) {
      paged_bytes_ += size * static_cast<std::int64_t>(c10::elementSize(dtype));
    } else {
      states.push_back(
          at::zeros_like(parameter, parameter.options().dtype(dtype)));
    }
  }
  if (row_.has_norm) states.push_back(Floats(1, parameter));  // unorm_vec
  for (int i = 0; quantizes && i < row_.num_states; ++i) {
    states.push_back(Floats((size + row_.block - 1) / row_.block, parameter));
  }
  return states;
}

ForeignStep::States ForeignStep::Torchao(const at::Tensor& parameter,
                                         bool quantizes) {
  const std::int64_t size = parameter.numel();
  States states;
  for (int i = 0; i < row_.num_states; ++i) {
    if (!quantizes) {
      states.push_back(at::zeros_like(parameter));
      continue;
    }
    const auto codes = parameter.options().dtype(at::kByte);
    states.push_back(row_.bits == 8 ? at::zeros(parameter.sizes(), codes)
                                    : at::zeros({size * row_.bits / 8}, codes));
    states.push_back(Floats(size / row_.block, parameter));
    maps_.push_back(Floats(std::int64_t{1} << row_.bits, parameter));
  }
  return states;
}

}  // namespace foretell
