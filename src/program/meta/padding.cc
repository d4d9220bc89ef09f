// Padding by reflection and replication.

#include <algorithm>

#include "src/program/meta/families.h"
#include "src/program/meta/shapes.h"

namespace foretell::meta {
namespace {

// `padding` goes from the last axis forward: before, behind, before, behind. A
// reflection leaves out the element at the border.
template <bool kReflects>
void Pad(Call& call) {
  const at::Tensor& input = call.Tensor("self");
  const Sizes padding = call.Ints("padding");
  Sizes sizes = input.sizes().vec();
  TORCH_CHECK(padding.size() % 2 == 0 && padding.size() / 2 <= sizes.size(),
              call.schema().name(), ": ", padding.size(),
              " paddings for an input of rank ", sizes.size());
  for (std::size_t i = 0; i + 1 < padding.size(); i += 2) {
    std::int64_t& length = sizes[sizes.size() - 1 - i / 2];
    TORCH_CHECK(!kReflects || std::max(padding[i], padding[i + 1]) < length,
                call.schema().name(), ": padding by ", padding[i], " and ",
                padding[i + 1], " reflects more than an axis of ", length);
    length += padding[i] + padding[i + 1];
    TORCH_CHECK(length > 0, call.schema().name(), ": the output would be ",
                at::IntArrayRef(sizes));
  }
  call.Return(Contiguous(sizes, input.scalar_type()));
}

constexpr KernelRow kPaddingKernels[] = {
    {"reflection_pad1d", Pad<true>},
    {"reflection_pad2d", Pad<true>},
    {"reflection_pad3d", Pad<true>},
    {"replication_pad1d", Pad<false>},
    {"replication_pad2d", Pad<false>},
    {"replication_pad3d", Pad<false>},
    {"reflection_pad1d_backward", ReturnContiguousSelf},
    {"reflection_pad2d_backward", ReturnContiguousSelf},
    {"reflection_pad3d_backward", ReturnContiguousSelf},
    {"replication_pad1d_backward", ReturnContiguousSelf},
    {"replication_pad2d_backward", ReturnContiguousSelf},
    {"replication_pad3d_backward", ReturnContiguousSelf},
};

}  // namespace

std::span<const KernelRow> PaddingKernels() { return kPaddingKernels; }

}  // namespace foretell::meta
