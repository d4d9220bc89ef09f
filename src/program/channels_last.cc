#include "src/program/channels_last.h"

#include <c10/core/MemoryFormat.h>

namespace foretell {
namespace {

constexpr std::int64_t kImageDimensions = 4;

}  // namespace

void ToChannelsLast(const at::Tensor& tensor) {
  if (tensor.dim() != kImageDimensions ||
      tensor.suggest_memory_format() == at::MemoryFormat::ChannelsLast) {
    return;
  }
  const at::Tensor data = tensor.detach();
  const bool stays = data.is_meta() && data.is_non_overlapping_and_dense();
  // A trace would count a copy in addition to the original.
  tensor.set_data(
      stays ? data.as_strided(data.sizes(),
                              c10::get_channels_last_strides_2d(data.sizes()))
            : data.to(data.options(), /*non_blocking=*/false, /*copy=*/false,
                      at::MemoryFormat::ChannelsLast));
}

void ToChannelsLast(const ProgramInstance& instance) {
  for (const NamedTensor& parameter : instance.Parameters()) {
    ToChannelsLast(parameter.tensor);
  }
  for (const NamedTensor& buffer : instance.Buffers()) {
    ToChannelsLast(buffer.tensor);
  }
}

}  // namespace foretell
