// Calls that TorchScript has and eager code does not.
//
// Python's indexing leaves out a slice of step 1 from 0 to at least the length
// (applySlice in ATen/TensorIndexing.h, LibTorch 2.13), except where the slice
// is the whole index: x[:, 0] is a select, x[:] is a slice. A tracer turns that
// off, so that its trace fits other sizes, and a compiler writes every slice.
// Tensor.contiguous() returns its operand if that is contiguous
// (torch/csrc/autograd/python_variable_methods). A slice that stays costs a
// dispatch, and its gradient a kernel that fills a tensor and one that copies.

#include <ATen/ATen.h>
#include <ATen/core/stack.h>
#include <torch/csrc/jit/runtime/custom_operator.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "frontends/torchscript/passes.h"
#include "frontends/torchscript/rewriting.h"

namespace foretell::torchscript {
namespace {

using torch::jit::Node;
using torch::jit::Stack;
using torch::jit::Use;
using torch::jit::Value;

bool CoversAll(const at::Tensor& tensor, std::int64_t dim,
               std::optional<std::int64_t> start,
               std::optional<std::int64_t> end, std::int64_t step) {
  if (!tensor.defined() || step != 1 || start.value_or(0) != 0) return false;
  if (dim < 0) dim += tensor.dim();
  if (dim < 0 || dim >= tensor.dim()) return false;
  constexpr std::int64_t kBeyondAny = std::numeric_limits<std::int64_t>::max();
  return end.value_or(kBeyondAny) >= tensor.size(dim);
}

at::Tensor TakeSlice(Stack& stack) {
  const auto step = torch::jit::pop(stack).toInt();
  const auto end = torch::jit::pop(stack).toOptional<std::int64_t>();
  const auto start = torch::jit::pop(stack).toOptional<std::int64_t>();
  const auto dim = torch::jit::pop(stack).toInt();
  at::Tensor tensor = torch::jit::pop(stack).toTensor();
  if (CoversAll(tensor, dim, start, end, step)) return tensor;
  return at::slice(tensor, dim, start, end, step);
}

void Slice(Stack& stack) { torch::jit::push(stack, TakeSlice(stack)); }

/// The last part of an index: Python returns a new tensor.
void LastSlice(Stack& stack) {
  const at::Tensor whole = torch::jit::pop(stack).toTensor();
  at::Tensor tensor = TakeSlice(stack);
  if (tensor.is_same(whole)) tensor = at::alias(whole);
  torch::jit::push(stack, std::move(tensor));
}

void Contiguous(Stack& stack) {
  const auto format =
      static_cast<at::MemoryFormat>(torch::jit::pop(stack).toInt());
  const bool is_known = format == at::MemoryFormat::Contiguous;
  at::Tensor tensor = torch::jit::pop(stack).toTensor();
  if (!is_known || !tensor.defined() || !tensor.is_contiguous()) {
    tensor = tensor.contiguous(format);
  }
  torch::jit::push(stack, std::move(tensor));
}

at::ScalarType TypeOfCode(const c10::IValue& code) {
  return static_cast<at::ScalarType>(code.toInt());
}

/// aten::_autocast_to_reduced_precision expects tensors on CUDA or the CPU.
void CastDown(Stack& stack) {
  const c10::IValue cpu_type = torch::jit::pop(stack);
  const c10::IValue cuda_type = torch::jit::pop(stack);
  const bool on_cpu = torch::jit::pop(stack).toBool();
  const bool on_cuda = torch::jit::pop(stack).toBool();
  at::Tensor tensor = torch::jit::pop(stack).toTensor();
  if ((on_cpu || on_cuda) && tensor.scalar_type() == at::kFloat) {
    tensor = tensor.to(TypeOfCode(on_cuda ? cuda_type : cpu_type));
  }
  torch::jit::push(stack, std::move(tensor));
}

void CastUp(Stack& stack) {
  const bool on_cpu = torch::jit::pop(stack).toBool();
  const bool on_cuda = torch::jit::pop(stack).toBool();
  at::Tensor tensor = torch::jit::pop(stack).toTensor();
  const bool is_reduced = tensor.scalar_type() == at::kHalf ||
                          tensor.scalar_type() == at::kBFloat16;
  if ((on_cpu || on_cuda) && is_reduced) tensor = tensor.to(at::kFloat);
  torch::jit::push(stack, std::move(tensor));
}

bool HasTensorFirst(const Node& node) {
  return !node.inputs().empty() &&
         node.input(0)->type()->kind() == c10::TypeKind::TensorType;
}

/// Whether `value` is always the number `wanted`.
bool Is(const Value& value, std::int64_t wanted) {
  const auto constant = ConstantOf(value);
  return constant && constant->isInt() && constant->toInt() == wanted;
}

/// Whether `use` continues an index whose first part is `:`, or assigns to what
/// that part names.
bool GoesOnWithIndex(const Use& use) {
  if (use.offset != 0) return false;
  switch (use.user->kind()) {
    case c10::aten::slice:
    case c10::aten::select:
    case c10::aten::unsqueeze:
      return !Is(*use.user->input(1), 0);
    case c10::aten::index:
    case c10::aten::index_put_:
    case c10::aten::copy_:
    case c10::aten::fill_:
      return true;
    default:
      return false;
  }
}

/// Whether a slice is one of several parts of an index, as in x[:, 0] and
/// x[0, :]. Those of other dimensions than the first always are.
bool IsPartOfIndex(const Node& slice) {
  if (slice.inputs().size() != 5 || !HasTensorFirst(slice)) return false;
  if (!Is(*slice.input(1), 0)) return true;
  const Node& before = *slice.input(0)->node();
  if (before.kind() == c10::aten::select && Is(*before.input(1), 0)) {
    return true;
  }
  return std::ranges::any_of(slice.output()->uses(), GoesOnWithIndex);
}

bool IsCall(const Node& node) { return HasTensorFirst(node); }

constexpr char kSlice[] = "foretell::slice";
constexpr char kLastSlice[] = "foretell::last_slice";

struct EagerRow {
  c10::Symbol kind;
  const char* name;
  const char* schema;
  void (*operation)(Stack&);
  bool (*applies)(const Node&);
};

std::array<EagerRow, 4> Rows() {
  return {
      {{c10::aten::slice, kSlice,
        "(Tensor(a) self, int dim, int? start, int? end, int step) -> "
        "Tensor(a)",
        Slice, IsPartOfIndex},
       {c10::aten::contiguous, "foretell::contiguous",
        "(Tensor(a) self, int memory_format) -> Tensor(a)", Contiguous, IsCall},
       {c10::aten::_autocast_to_reduced_precision, "foretell::cast_down",
        "(Tensor(a) self, bool cuda_enabled, bool cpu_enabled, int "
        "cuda_dtype, int cpu_dtype) -> Tensor(a)",
        CastDown, IsCall},
       {c10::aten::_autocast_to_full_precision, "foretell::cast_up",
        "(Tensor(a) self, bool cuda_enabled, bool cpu_enabled) -> "
        "Tensor(a)",
        CastUp, IsCall}}};
}

torch::jit::Operator Own(const std::string& name, const std::string& schema,
                         void (*operation)(Stack&)) {
  return {name + schema, operation, c10::AliasAnalysisKind::FROM_SCHEMA};
}

void RegisterRows() {
  static const torch::jit::RegisterOperators registered([] {
    std::vector<std::optional<torch::jit::Operator>> operators;
    for (const EagerRow& row : Rows()) {
      operators.emplace_back(Own(row.name, row.schema, row.operation));
    }
    operators.emplace_back(
        Own(kLastSlice,
            "(Tensor(a) self, int dim, int? start, int? end, int step, Tensor "
            "whole) -> Tensor(a)",
            LastSlice));
    return operators;
  }());
}

/// The tensor whose index ends with `slice`; null if an earlier part of the
/// index always makes a new tensor.
Value* WholeOf(const Node& slice) {
  Value* whole = slice.input(0);
  while (whole->node()->kind() == c10::Symbol::fromQualString(kSlice)) {
    whole = whole->node()->input(0);
  }
  const c10::Symbol kind = whole->node()->kind();
  const bool is_part =
      kind == c10::aten::select || kind == c10::aten::unsqueeze;
  return is_part ? nullptr : whole;
}

void Replace(Node& node, std::string name) {
  if (name == kSlice &&
      !std::ranges::any_of(node.output()->uses(), GoesOnWithIndex)) {
    if (Value* const whole = WholeOf(node)) {
      node.addInput(whole);
      name = kLastSlice;
    }
  }
  ReplaceBy(name, node);
}

}  // namespace

void CallAsEagerCode(const torch::jit::Module& module) {
  RegisterRows();
  // Replacing a part of an index must not hide the next part from the previous.
  std::vector<std::pair<Node*, const char*>> replaced;
  const auto rows = Rows();
  ForEachNode(module, [&](Node& node) {
    for (const EagerRow& row : rows) {
      if (node.kind() == row.kind && row.applies(node)) {
        replaced.emplace_back(&node, row.name);
      }
    }
  });
  for (const auto& [node, name] : replaced) Replace(*node, name);
}

}  // namespace foretell::torchscript
