#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/graph/collective.h"
#include "src/graph/index_of.h"
#include "src/runtime/onnxruntime/kernel_rows.h"
#include "src/runtime/onnxruntime/passes.h"

// Which provider runs a node (GraphPartitioner), and what that costs:
//
//   CUDA   if it has registered a kernel for the node's version and types
//   CPU    else. A float16 operand for which the CPU has no kernel either is
//          cast to float32 before and back after, on the CPU
//          (InsertCastTransformer)
//
// Where a tensor changes sides, MemcpyTransformer puts a copy: one per tensor,
// however many nodes read it. Both directions wait for the stream, so the CPU
// queues nothing meanwhile. Shape computations, which GetCpuPreferredNodes
// keeps on the CPU, are recorded as sizes and not as nodes.

namespace foretell::runtime::ort {
namespace {

/// Operators of PyTorch that an export writes as one of kKernelRows.
constexpr std::pair<std::string_view, std::string_view> kNames[] = {
    {"_fft_c2c", "DFT"},
    {"_fft_c2r", "DFT"},
    {"_fft_r2c", "DFT"},
    {"_unique2", "Unique"},
    {"acos", "Acos"},
    {"acosh", "Acosh"},
    {"affine_grid_generator", "AffineGrid"},
    {"amax", "ReduceMax"},
    {"amin", "ReduceMin"},
    {"argmax", "ArgMax"},
    {"argmin", "ArgMin"},
    {"asin", "Asin"},
    {"asinh", "Asinh"},
    {"atan", "Atan"},
    {"atanh", "Atanh"},
    {"bitwise_and", "BitwiseAnd"},
    {"bitwise_left_shift", "BitShift"},
    {"bitwise_not", "BitwiseNot"},
    {"bitwise_or", "BitwiseOr"},
    {"bitwise_right_shift", "BitShift"},
    {"bitwise_xor", "BitwiseXor"},
    {"celu", "Celu"},
    {"clamp", "Clip"},
    {"col2im", "Col2Im"},
    {"constant_pad_nd", "Pad"},
    {"cosh", "Cosh"},
    {"cumprod", "CumProd"},
    {"det", "Det"},
    {"eq", "Equal"},
    {"fft_fft", "DFT"},
    {"fft_ifft", "DFT"},
    {"fft_irfft", "DFT"},
    {"fft_rfft", "DFT"},
    {"fmod", "Mod"},
    {"ge", "GreaterOrEqual"},
    {"grid_sampler", "GridSample"},
    {"grid_sampler_2d", "GridSample"},
    {"grid_sampler_3d", "GridSample"},
    {"gt", "Greater"},
    {"le", "LessOrEqual"},
    {"linalg_det", "Det"},
    {"lt", "Less"},
    {"matmul", "MatMul"},
    {"max_unpool2d", "MaxUnpool"},
    {"max_unpool3d", "MaxUnpool"},
    {"maximum", "Max"},
    {"mean", "ReduceMean"},
    {"minimum", "Min"},
    {"multinomial", "Multinomial"},
    {"one_hot", "OneHot"},
    {"pad", "Pad"},
    {"pixel_shuffle", "DepthToSpace"},
    {"pixel_unshuffle", "SpaceToDepth"},
    {"prod", "ReduceProd"},
    {"relu", "Relu"},
    {"remainder", "Mod"},
    {"repeat", "Tile"},
    {"sinh", "Sinh"},
    {"stft", "STFT"},
    {"tan", "Tan"},
    {"tile", "Tile"},
    {"torchvision::roi_pool", "MaxRoiPool"},
    {"unique_dim", "Unique"},
    {"where", "Where"}};

/// Whether `type` is one of the words of `types`.
bool Lists(std::string_view types, DType type) {
  const std::string_view name = DTypeName(type);
  while (!types.empty()) {
    const std::size_t end = std::min(types.find(' '), types.size());
    if (types.substr(0, end) == name) return true;
    types.remove_prefix(std::min(end + 1, types.size()));
  }
  return false;
}

/// The type in which a node computes: that of its result if an operand has it,
/// else that of its first operand (see kernel_rows.h).
DType ComputedIn(const Draft& draft, const DraftNode& node) {
  const DType result = draft.TypeOf(node.outputs[0]).dtype;
  const bool is_operands =
      std::ranges::any_of(node.inputs, [&draft, result](TensorId id) {
        return draft.TypeOf(id).dtype == result;
      });
  return is_operands ? result : draft.TypeOf(node.inputs[0]).dtype;
}

/// The operator of ONNX that only the CPU can run; empty if CUDA's provider has
/// a kernel, or neither.
std::string_view OperatorOfCpu(const Draft& draft, const DraftNode& node) {
  if (node.inputs.empty() || node.outputs.empty() || node.aliases) return {};
  const auto* const name = std::ranges::find(
      kNames, node.target, [](const auto& row) { return row.first; });
  if (name == std::end(kNames)) return {};
  const auto* const row =
      std::ranges::find(kKernelRows, name->second, &KernelRow::name);
  if (row == std::end(kKernelRows)) return {};
  const DType type = ComputedIn(draft, node);
  const bool is_cpus = Lists(row->cpu, type) ||
                       (type == DType::kF16 && Lists(row->cpu, DType::kF32));
  return is_cpus && !Lists(row->cuda, type) ? row->name : std::string_view();
}

class Placement {
 public:
  explicit Placement(Draft& draft)
      : draft_(draft), copies_(draft.tensors.size(), kNone) {}

  void Run() {
    bool any = false;
    for (DraftNode& node : draft_.nodes) any |= MoveToCpu(node);
    if (!any) return;
    FindSides();
    std::vector<DraftNode> nodes = std::move(draft_.nodes);
    for (DraftNode& node : nodes) {
      for (TensorId& id : node.inputs) id = OnSideOf(node, id);
      draft_.nodes.push_back(std::move(node));
    }
  }

 private:
  static bool RunsOnCpu(const DraftNode& node) {
    return node.target == kRunOnHost;
  }

  bool MoveToCpu(DraftNode& node) {
    const std::string_view name = OperatorOfCpu(draft_, node);
    if (name.empty()) return false;
    node.target = kRunOnHost;
    node.kind = OpKindOf(kRunOnHost);
    node.attributes = {{std::string(kOperatorAttribute), std::string(name)}};
    node.recorded = kNone;
    return true;
  }

  /// Marks what only the CPU makes or reads.
  void FindSides() {
    std::vector<bool> read_by_gpu(draft_.tensors.size(), false);
    std::vector<bool> read_by_cpu(draft_.tensors.size(), false);
    for (const DraftNode& node : draft_.nodes) {
      std::vector<bool>& readers = RunsOnCpu(node) ? read_by_cpu : read_by_gpu;
      for (const TensorId id : node.inputs) readers[IndexOf(id)] = true;
      if (!RunsOnCpu(node)) continue;
      for (const TensorId id : node.outputs) {
        draft_.tensors[IndexOf(id)].on_cpu = true;
      }
    }
    for (std::size_t i = 0; i < read_by_cpu.size(); ++i) {
      DraftTensor& tensor = draft_.tensors[i];
      const bool is_source = tensor.source != kNone || tensor.constant;
      if (!is_source || !read_by_cpu[i]) continue;
      // An initializer is stored on each side that reads it.
      tensor.on_cpu = !read_by_gpu[i];
      if (tensor.constant) copies_[i] = static_cast<TensorId>(i);
    }
  }

  /// `id`, or its copy on the side of `node`.
  TensorId OnSideOf(const DraftNode& node, TensorId id) {
    const bool to_cpu = RunsOnCpu(node);
    if (draft_.tensors[IndexOf(id)].on_cpu == to_cpu) return id;
    if (copies_[IndexOf(id)] != kNone) return copies_[IndexOf(id)];
    const TensorId copy = draft_.AddTensor(draft_.TypeOf(id));
    draft_.tensors.back().on_cpu = to_cpu;
    draft_.nodes.push_back(
        MakeNode(to_cpu ? kToHost : kFromHost, {id}, copy, node.scope));
    copies_.resize(draft_.tensors.size(), kNone);
    copies_[IndexOf(id)] = copy;
    return copy;
  }

  Draft& draft_;
  std::vector<TensorId> copies_;  ///< On the other side; kNone: none yet.
};

}  // namespace

void PlaceNodes(Draft& draft) { Placement(draft).Run(); }

}  // namespace foretell::runtime::ort
