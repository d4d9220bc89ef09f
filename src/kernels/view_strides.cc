#include "src/kernels/view_strides.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include "src/graph/attributes.h"

namespace foretell::cost {
namespace {

/// A view about to be made.
struct View {
  const Node& node;
  const Shape& shape;
  const Strides& strides;
  const Shape& new_shape;

  std::size_t rank() const { return shape.size(); }
};

using ViewRule = std::optional<Strides> (*)(const View&);

std::optional<Strides> Reshape(const View& view) {
  return ViewStrides(view.shape, view.strides, view.new_shape);
}

std::optional<Strides> Contiguous(const View& view) {
  if (!IsContiguous(view.shape, view.strides)) return std::nullopt;
  return view.strides;
}

std::optional<Strides> Permute(const View& view) {
  const auto dims = PermutationOf(view.node, "dims", view.rank());
  if (!dims) return Reshape(view);
  Strides result;
  for (const std::size_t dim : *dims) result.push_back(view.strides[dim]);
  return result;
}

/// Exchanges the dimensions that two attributes name.
std::optional<Strides> Exchanged(const View& view, std::string_view first,
                                 std::string_view second) {
  const auto from = DimOf(view.node, first, view.rank(), 0);
  const auto to = DimOf(view.node, second, view.rank(), 1);
  if (!from || !to) return Reshape(view);
  Strides result = view.strides;
  std::swap(result[*from], result[*to]);
  return result;
}

std::optional<Strides> Transpose(const View& view) {
  return Exchanged(view, "dim0", "dim1");
}

std::optional<Strides> SwapAxes(const View& view) {
  return Exchanged(view, "axis0", "axis1");
}

std::optional<Strides> TransposeLastTwo(const View& view) {
  Strides result = view.strides;
  const std::size_t rank = view.rank();
  if (rank >= 2) std::swap(result[rank - 2], result[rank - 1]);
  return result;
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
  const auto dim = DimOf(view.node, "dim", view.rank());
  if (!dim || view.new_shape.size() + 1 != view.rank()) return Reshape(view);
  Strides result = view.strides;
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(*dim));
  return result;
}

std::optional<Strides> Slice(const View& view) {
  const auto dim = DimOf(view.node, "dim", view.rank());
  if (!dim) return view.strides;
  Strides result = view.strides;
  // A step beyond the dimension selects one element of it.
  const std::int64_t longest = std::max<std::int64_t>(1, view.shape[*dim]);
  result[*dim] *=
      std::clamp<std::int64_t>(view.node.Int("step", 1), 1, longest);
  return result;
}

/// The strides that the operator states.
std::optional<Strides> AsStrided(const View& view) {
  return view.node.Ints("stride", ContiguousStrides(view.new_shape));
}

/// A part of the tensor, or windows over it (diagonal, unfold): a view whatever
/// its strides, which are assumed to be row-major.
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
    {"as_strided", &AsStrided},
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
    {"swapaxes", &SwapAxes},
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
