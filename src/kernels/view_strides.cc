#include "src/kernels/view_strides.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace foretell::cost {
namespace {

/// A view about to be taken.
struct View {
  const Node& node;
  const Shape& shape;
  const Strides& strides;
  const Shape& new_shape;

  std::size_t rank() const { return shape.size(); }
};

using ViewRule = std::optional<Strides> (*)(const View&);

/// `dim` counted from the front; the last dimension when it is out of range.
std::size_t Dimension(std::int64_t dim, std::size_t rank) {
  const std::int64_t size = static_cast<std::int64_t>(rank);
  const std::int64_t counted = dim < 0 ? dim + size : dim;
  return static_cast<std::size_t>(
      std::clamp<std::int64_t>(counted, 0, size - 1));
}

std::optional<Strides> Reshape(const View& view) {
  return ViewStrides(view.shape, view.strides, view.new_shape);
}

std::optional<Strides> Contiguous(const View& view) {
  if (!IsContiguous(view.shape, view.strides)) return std::nullopt;
  return view.strides;
}

std::optional<Strides> Permute(const View& view) {
  const std::vector<std::int64_t> dims = view.node.Ints("dims", {});
  if (dims.size() != view.rank()) return Reshape(view);
  Strides result;
  for (const std::int64_t dim : dims) {
    result.push_back(view.strides[Dimension(dim, view.rank())]);
  }
  return result;
}

Strides Swapped(const View& view, std::int64_t first, std::int64_t second) {
  Strides result = view.strides;
  if (result.empty()) return result;
  std::swap(result[Dimension(first, view.rank())],
            result[Dimension(second, view.rank())]);
  return result;
}

std::optional<Strides> Transpose(const View& view) {
  return Swapped(view, view.node.Int("dim0", 0), view.node.Int("dim1", 1));
}

std::optional<Strides> TransposeLastTwo(const View& view) {
  if (view.rank() < 2) return view.strides;
  return Swapped(view, -2, -1);
}

/// Repeated dimensions have stride 0; new ones come first.
std::optional<Strides> Expand(const View& view) {
  if (view.new_shape.size() < view.rank()) return Reshape(view);
  const std::size_t added = view.new_shape.size() - view.rank();
  Strides result(view.new_shape.size(), 0);
  for (std::size_t dim = 0; dim < view.rank(); ++dim) {
    const bool repeats =
        view.shape[dim] == 1 && view.new_shape[dim + added] != 1;
    if (!repeats) result[dim + added] = view.strides[dim];
  }
  return result;
}

std::optional<Strides> DropDimension(const View& view) {
  if (view.new_shape.size() + 1 != view.rank()) return Reshape(view);
  Strides result = view.strides;
  const std::size_t dim = Dimension(view.node.Int("dim", 0), view.rank());
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(dim));
  return result;
}

std::optional<Strides> Slice(const View& view) {
  if (view.rank() == 0) return view.strides;
  Strides result = view.strides;
  const std::int64_t step = view.node.Int("step", 1);
  result[Dimension(view.node.Int("dim", 0), view.rank())] *=
      std::max<std::int64_t>(1, step);
  return result;
}

/// A part of the tensor, or windows over it (diagonal, unfold): a view whatever
/// its strides, which are taken for row-major.
std::optional<Strides> KeepOrReshape(const View& view) {
  if (view.new_shape.size() == view.rank()) return view.strides;
  const bool has_all = NumElements(view.shape) == NumElements(view.new_shape);
  return has_all ? Reshape(view) : ContiguousStrides(view.new_shape);
}

struct ViewOperator {
  std::string_view target;
  ViewRule rule;
};

constexpr ViewOperator kViewOperators[] = {
    {"_reshape_alias", &Reshape},
    {"_unsafe_view", &Reshape},
    {"adjoint", &TransposeLastTwo},
    {"broadcast_to", &Expand},
    {"contiguous", &Contiguous},
    {"expand", &Expand},
    {"expand_as", &Expand},
    {"flatten", &Reshape},
    {"mH", &TransposeLastTwo},
    {"mT", &TransposeLastTwo},
    {"numpy_T", &TransposeLastTwo},
    {"permute", &Permute},
    {"ravel", &Reshape},
    {"reshape", &Reshape},
    {"reshape_as", &Reshape},
    {"select", &DropDimension},
    {"slice", &Slice},
    {"squeeze", &Reshape},
    {"swapaxes", &Transpose},
    {"swapdims", &Transpose},
    {"t", &TransposeLastTwo},
    {"transpose", &Transpose},
    {"unbind", &DropDimension},
    {"unflatten", &Reshape},
    {"unsqueeze", &Reshape},
    {"view", &Reshape},
    {"view_as", &Reshape},
};

ViewRule RuleOf(std::string_view target) {
  const auto* const row =
      std::ranges::find(kViewOperators, target, &ViewOperator::target);
  return row == std::end(kViewOperators) ? &KeepOrReshape : row->rule;
}

}  // namespace

std::optional<Strides> StridesOfView(const OperatorGraph& graph,
                                     const Node& node, ValueId output,
                                     const Strides& strides) {
  const View view = {node, graph.value(node.inputs.front()).type.shape, strides,
                     graph.value(output).type.shape};
  std::optional<Strides> result = RuleOf(node.target)(view);
  const bool fits = !result || result->size() == view.new_shape.size();
  return fits ? result : KeepOrReshape(view);
}

}  // namespace foretell::cost
