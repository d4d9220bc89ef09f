// torchvision's operators for detection networks.
//
// A file that was exported with torchvision names them; their definitions
// travel in a shared library that a plain C++ process does not load. Schemas
// are those of torchvision 0.15 to 0.28. Boxes [K, 5] hold the image's place
// in the batch and two corners.

#include <array>

#include "src/program/meta/families.h"
#include "src/program/meta/shapes.h"

namespace foretell::meta {
namespace {

constexpr const char* kSchemas[] = {
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "roi_align(Tensor input, Tensor rois, float spatial_scale, "
    "SymInt pooled_height, SymInt pooled_width, int sampling_ratio, "
    "bool aligned) -> Tensor",
    "_roi_align_backward(Tensor grad, Tensor rois, float spatial_scale, "
    "SymInt pooled_height, SymInt pooled_width, SymInt batch_size, "
    "SymInt channels, SymInt height, SymInt width, int sampling_ratio, "
    "bool aligned) -> Tensor",
    "roi_pool(Tensor input, Tensor rois, float spatial_scale, "
    "SymInt pooled_height, SymInt pooled_width) -> (Tensor, Tensor)",
    "_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, "
    "float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
    "SymInt batch_size, SymInt channels, SymInt height, SymInt width) "
    "-> Tensor",
    "ps_roi_align(Tensor input, Tensor rois, float spatial_scale, "
    "SymInt pooled_height, SymInt pooled_width, int sampling_ratio) "
    "-> (Tensor, Tensor)",
    "_ps_roi_align_backward(Tensor grad, Tensor rois, "
    "Tensor channel_mapping, float spatial_scale, SymInt pooled_height, "
    "SymInt pooled_width, int sampling_ratio, SymInt batch_size, "
    "SymInt channels, SymInt height, SymInt width) -> Tensor",
    "ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, "
    "SymInt pooled_height, SymInt pooled_width) -> (Tensor, Tensor)",
    "_ps_roi_pool_backward(Tensor grad, Tensor rois, "
    "Tensor channel_mapping, float spatial_scale, SymInt pooled_height, "
    "SymInt pooled_width, SymInt batch_size, SymInt channels, "
    "SymInt height, SymInt width) -> Tensor",
    "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, "
    "Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, "
    "SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, "
    "SymInt offset_groups, bool use_mask) -> Tensor",
    "_deform_conv2d_backward(Tensor grad, Tensor input, Tensor weight, "
    "Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, "
    "SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, "
    "SymInt dilation_w, SymInt groups, SymInt offset_groups, "
    "bool use_mask) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
};

// [boxes, channels, pooled height, pooled width].
Sizes Pooled(const Call& call, std::int64_t channels) {
  return {call.Tensor("rois").size(0), channels, call.Int("pooled_height"),
          call.Int("pooled_width")};
}

void RoiAlign(Call& call) {
  const at::Tensor& input = call.Tensor("input");
  call.Return(Contiguous(Pooled(call, input.size(1)), input.scalar_type()));
}

void RoiPool(Call& call) {
  const at::Tensor& input = call.Tensor("input");
  const Sizes sizes = Pooled(call, input.size(1));
  call.Return(Contiguous(sizes, input.scalar_type()));
  call.Return(Contiguous(sizes, at::kInt));
}

// Every output place has input channels of its own.
void PositionSensitive(Call& call) {
  const at::Tensor& input = call.Tensor("input");
  const std::int64_t places =
      call.Int("pooled_height") * call.Int("pooled_width");
  TORCH_CHECK(places > 0 && input.size(1) % places == 0, call.schema().name(),
              ": ", input.size(1), " channels do not split into ", places,
              " places");
  const Sizes sizes = Pooled(call, input.size(1) / places);
  call.Return(Contiguous(sizes, input.scalar_type()));
  call.Return(Contiguous(sizes, at::kInt));
}

void RoiBackward(Call& call) {
  const std::array<std::int64_t, 4> sizes = {
      call.Int("batch_size"), call.Int("channels"), call.Int("height"),
      call.Int("width")};
  call.Return(Contiguous(sizes, call.Tensor("grad").scalar_type()));
}

void DeformableConvolution(Call& call) {
  const at::Tensor& input = call.Tensor("input");
  const at::Tensor& weight = call.Tensor("weight");
  TORCH_CHECK(input.dim() == 4 && weight.dim() == 4,
              "deform_conv2d: the input has rank ", input.dim(),
              " and the weight ", weight.dim(), ", expected 4 and 4");
  const std::int64_t height =
      NumWindows(input.size(2), {.kernel = weight.size(2),
                                 .stride = call.Int("stride_h"),
                                 .padding = call.Int("pad_h"),
                                 .dilation = call.Int("dilation_h")});
  const std::int64_t width =
      NumWindows(input.size(3), {.kernel = weight.size(3),
                                 .stride = call.Int("stride_w"),
                                 .padding = call.Int("pad_w"),
                                 .dilation = call.Int("dilation_w")});
  call.Return(Contiguous(Sizes{input.size(0), weight.size(0), height, width},
                         input.scalar_type()));
}

void DeformableConvolutionBackward(Call& call) {
  for (const char* name : {"input", "weight", "offset", "mask", "bias"}) {
    const at::Tensor& tensor = call.Tensor(name);
    call.Return(Contiguous(tensor.sizes(), tensor.scalar_type()));
  }
}

constexpr KernelRow kDetectionKernels[] = {
    {"torchvision::roi_align", RoiAlign},
    {"torchvision::_roi_align_backward", RoiBackward},
    {"torchvision::roi_pool", RoiPool},
    {"torchvision::_roi_pool_backward", RoiBackward},
    {"torchvision::ps_roi_align", PositionSensitive},
    {"torchvision::_ps_roi_align_backward", RoiBackward},
    {"torchvision::ps_roi_pool", PositionSensitive},
    {"torchvision::_ps_roi_pool_backward", RoiBackward},
    {"torchvision::deform_conv2d", DeformableConvolution},
    {"torchvision::_deform_conv2d_backward", DeformableConvolutionBackward},
};

}  // namespace

std::vector<LibrarySchemas> DetectionSchemas() {
  return {{"torchvision", kSchemas}};
}

std::span<const KernelRow> DetectionKernels() { return kDetectionKernels; }

}  // namespace foretell::meta
