#pragma once

#include <cstdint>

#include "foretell/run.h"
#include "src/graph/convolution.h"

namespace foretell {

/// True for a convolution, or the backward operator of one, that PyTorch on a
/// GPU runs without cuDNN: for each image and group it unfolds the image into
/// columns, a row per element of the window, and multiplies them.
///
/// 2.9 does so with contiguous images of three dimensions in 16 bits and a
/// window of more than one element where cuDNN is 9.8 to 9.14 (pull request
/// 163581, `use_cudnn` in aten/src/ATen/native/Convolution.cpp), and is
/// installed with 9.10 or 9.13; users find 2.10 without it (issues 174051,
/// 177406). Depthwise convolutions have a separate kernel.
bool RunsUnfolded(const OperatorGraph& graph, const Node& node,
                  const TorchVersion& torch);

/// The columns of one image and one group: of the input, or of the output for a
/// transposed convolution.
struct Columns {
  std::int64_t rows = 0;       ///< Channels times elements of the window.
  std::int64_t positions = 0;  ///< Per row.

  /// Throws Error(kInvalidArgument) beyond int64.
  std::int64_t Elements() const;
};
Columns ColumnsOf(const Convolution& convolution);

}  // namespace foretell
