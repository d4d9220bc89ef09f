// Sampling of images at places that a grid gives.

#include "src/program/meta/families.h"
#include "src/program/meta/shapes.h"

namespace foretell::meta {
namespace {

// input [N, C, (D,) H, W], grid [N, (D',) H', W', 2 or 3].
void GridSample(Call& call) {
  const at::Tensor& input = call.Tensor(call.Has("input") ? "input" : "self");
  const at::Tensor& grid = call.Tensor("grid");
  TORCH_CHECK(input.dim() == grid.dim(), "grid_sampler: the input has rank ",
              input.dim(), ", the grid ", grid.dim());
  Sizes sizes = grid.sizes().vec();
  sizes.pop_back();
  sizes.insert(sizes.begin() + 1, input.size(1));
  call.Return(Contiguous(sizes, input.scalar_type()));
}

void GridSampleBackward(Call& call) {
  const at::Tensor& input = call.Tensor(call.Has("input") ? "input" : "self");
  const at::Tensor& grid = call.Tensor("grid");
  const std::vector<bool> mask = call.Has("output_mask")
                                     ? call.Bools("output_mask")
                                     : std::vector<bool>(2, true);
  call.ReturnIf(mask[0], Contiguous(input.sizes(), input.scalar_type()));
  call.Return(Contiguous(grid.sizes(), grid.scalar_type()));
}

void AffineGrid(Call& call) {
  call.Return(Contiguous(Sizes{call.Int("N"), call.Int("H"), call.Int("W"), 2},
                         call.FirstTensor().scalar_type()));
}

constexpr KernelRow kResamplingKernels[] = {
    {"grid_sampler_2d", GridSample},
    {"grid_sampler_3d", GridSample},
    {"cudnn_grid_sampler", GridSample},
    {"grid_sampler_2d_backward", GridSampleBackward},
    {"grid_sampler_3d_backward", GridSampleBackward},
    {"cudnn_grid_sampler_backward", GridSampleBackward},
    {"cudnn_affine_grid_generator", AffineGrid},
};

}  // namespace

std::span<const KernelRow> ResamplingKernels() { return kResamplingKernels; }

}  // namespace foretell::meta
