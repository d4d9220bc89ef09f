#pragma once

#include <memory>
#include <vector>

namespace torch {
class Library;
}

namespace foretell::meta {

/// Defines torchvision's operators (nms, roi_align, roi_pool, ps_roi_align,
/// ps_roi_pool, deform_conv2d, with their gradients), unless torchvision is
/// loaded and has done it; the definitions live as long as `libraries`.
void DefineTorchvisionOperators(
    std::vector<std::unique_ptr<torch::Library>>& libraries);

}  // namespace foretell::meta
