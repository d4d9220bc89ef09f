// Frontends wrap LibTorch's exceptions, the TorchScript interpreter turns them
// into text, and cuBLAS and cuDNN have error codes of their own: so messages
// decide, and exception types only where they are still there.

#include "src/measure/failure.h"

#include <c10/util/Exception.h>

#include <array>
#include <new>
#include <string_view>
#include <utility>

#include "src/core/text.h"

namespace foretell::measure {
namespace {

constexpr std::array<std::pair<std::string_view, MeasureStatus>, 10> kPhrases =
    {{
        {"an illegal memory access", MeasureStatus::kIllegalAddress},
        {"misaligned address", MeasureStatus::kIllegalAddress},
        {"cudaErrorIllegalAddress", MeasureStatus::kIllegalAddress},
        {"out of memory", MeasureStatus::kOutOfMemory},
        // LibTorch asks NVML for the sizes in its out-of-memory error, which a
        // MIG instance refuses.
        {"NVML_SUCCESS == r", MeasureStatus::kOutOfMemory},
        {"cudaErrorMemoryAllocation", MeasureStatus::kOutOfMemory},
        {"CUBLAS_STATUS_ALLOC_FAILED", MeasureStatus::kOutOfMemory},
        {"CUDNN_STATUS_ALLOC_FAILED", MeasureStatus::kOutOfMemory},
        {"can't allocate memory", MeasureStatus::kOutOfMemory},
        {"not enough memory", MeasureStatus::kOutOfMemory},
    }};

}  // namespace

MeasureStatus StatusOfMessage(const std::string& message) {
  for (const auto& [phrase, status] : kPhrases) {
    if (message.find(phrase) != std::string::npos) return status;
  }
  return MeasureStatus::kFailed;
}

Failure Classify(const std::exception& error) {
  const auto* torch_error = dynamic_cast<const c10::Error*>(&error);
  const std::string message = torch_error != nullptr
                                  ? torch_error->what_without_backtrace()
                                  : error.what();
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
      dynamic_cast<const std::bad_alloc*>(&error) != nullptr) {
    return {MeasureStatus::kOutOfMemory, FirstLine(message)};
  }
  return {StatusOfMessage(message), FirstLine(message)};
}

}  // namespace foretell::measure
