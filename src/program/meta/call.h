#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foretell::meta {

using Sizes = std::vector<std::int64_t>;

/// True for arguments such as `out`, which an operator writes without reading.
inline bool IsOutArgument(const c10::Argument& argument) {
  return argument.kwarg_only() && argument.alias_info() != nullptr &&
         argument.alias_info()->isWrite();
}

/// A tensor that a kernel is about to return.
struct TensorSpec {
  Sizes sizes;
  at::ScalarType dtype = at::kFloat;
  Sizes strides = {};  ///< Empty: contiguous.
};

/// Row-major tensor.
TensorSpec Contiguous(at::IntArrayRef sizes, at::ScalarType dtype);
/// Tensor of `sizes` in `format`: contiguous, channels-last, or, for ranks
/// that the format does not know, contiguous.
TensorSpec InFormat(at::IntArrayRef sizes, at::ScalarType dtype,
                    at::MemoryFormat format);
/// What at::empty_like(tensor) makes: same sizes, and the same strides when
/// `tensor` is dense.
TensorSpec Like(const at::Tensor& tensor);
TensorSpec Like(const at::Tensor& tensor, at::ScalarType dtype);
/// Allocates `spec` on the meta device.
at::Tensor Allocate(const TensorSpec& spec);

/// One call of an operator: its arguments by their names in the schema, and
/// the results that a kernel gives back.
///
/// Names instead of positions let one kernel serve functional, in-place and
/// out variants and every LibTorch version that has the argument. An argument
/// which the schema lacks reads as absent.
class Call {
 public:
  Call(const c10::OperatorHandle& op, torch::jit::Stack& stack);

  const c10::FunctionSchema& schema() const { return schema_; }

  /// True for an argument that exists, is not None and not an undefined
  /// tensor.
  bool Has(std::string_view name) const;
  /// True for a defined tensor.
  bool IsTensor(std::string_view name) const;
  /// True for a list, as opposed to a word, of an argument that may be either.
  bool IsList(std::string_view name) const;
  /// The tensor `name`; throws c10::Error when absent.
  const at::Tensor& Tensor(std::string_view name) const;
  /// The tensor `name`, or an undefined one.
  at::Tensor TensorOrUndefined(std::string_view name) const;
  /// The first argument that is a tensor.
  const at::Tensor& FirstTensor() const;
  /// All tensors that are read: every tensor argument but those written by
  /// out variants; in-place `self` counts.
  std::vector<at::Tensor> ReadTensors() const;
  std::vector<at::Tensor> TensorList(std::string_view name) const;
  /// A list some of whose entries may be absent, which are undefined then.
  std::vector<at::Tensor> OptionalTensors(std::string_view name) const;

  std::int64_t Int(std::string_view name) const;
  std::int64_t Int(std::string_view name, std::int64_t fallback) const;
  double Double(std::string_view name, double fallback) const;
  bool Bool(std::string_view name, bool fallback) const;
  at::Scalar Scalar(std::string_view name) const;
  std::string Word(std::string_view name) const;
  /// An integer list; a single integer counts as a list of one.
  Sizes Ints(std::string_view name) const;
  /// As Ints, with a list of one repeated to `rank` entries, and an empty or
  /// absent one replaced by `rank` times `fallback`.
  Sizes Ints(std::string_view name, std::size_t rank,
             std::int64_t fallback) const;
  /// A list of Booleans, e.g. an output mask.
  std::vector<bool> Bools(std::string_view name) const;
  std::optional<at::ScalarType> DType(std::string_view name) const;

  /// The argument that the next result is written to, by an in-place or out
  /// variant; undefined for a functional one.
  at::Tensor NextOutput() const;

  /// Appends a result: writes to NextOutput() (resized when it is an out
  /// argument) or allocates. Returns that result.
  at::Tensor Return(const TensorSpec& spec);
  /// Appends an existing tensor; undefined is allowed.
  void Return(at::Tensor tensor);
  /// Appends any other value.
  void ReturnValue(c10::IValue value);
  /// Appends `spec` if `wanted`, else an undefined tensor.
  void ReturnIf(bool wanted, const TensorSpec& spec);

  /// Replaces the arguments on the stack by the results.
  void Finish();

 private:
  const c10::IValue* Find(std::string_view name) const;
  const c10::IValue& Get(std::string_view name) const;

  const c10::FunctionSchema& schema_;
  torch::jit::Stack& stack_;
  std::size_t first_;  ///< Place of the first argument on the stack.
  std::vector<c10::IValue> results_;
};

/// Computes the results of a call.
using Kernel = void (*)(Call& call);

/// When a kernel replaces LibTorch's.
enum class Policy {
  kIfMissing,      ///< Only where LibTorch has no kernel for meta tensors.
  kOverride,       ///< Instead of a composite of LibTorch's, too.
  kOverrideWhole,  ///< Also before autograd takes the composite apart.
  kDataDependent,  ///< kIfMissing, for a kernel that can only throw.
};

/// One row of a family's table. `name` without "aten::" and without overload
/// means all overloads of the operator and of its in-place variant (`name` +
/// "_"); with an overload ("max.unary_out") just that one.
struct KernelRow {
  std::string_view name;
  Kernel kernel;
  Policy policy = Policy::kIfMissing;
};

}  // namespace foretell::meta
