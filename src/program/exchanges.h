#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "foretell/parallel.h"

/// Exchanges between the GPUs of ModelPart(spec), recorded as operators of
/// src/graph/collective.h; of contents they make none.
namespace foretell::exchanges {

/// What all GPUs have in tensors like `input`, in one dimension.
at::Tensor Gather(const at::Tensor& input, const ParallelSpec& spec);
/// What the previous GPU has in a tensor like `input`.
at::Tensor Rotate(const at::Tensor& input, const ParallelSpec& spec);
/// `rows` rows that other GPUs send in exchange for those of `input`
/// [rows, ...].
at::Tensor AllToAll(const at::Tensor& input, std::int64_t rows,
                    const ParallelSpec& spec);

}  // namespace foretell::exchanges
