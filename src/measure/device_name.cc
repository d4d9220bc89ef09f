#include "src/measure/device_name.h"

#include <algorithm>
#include <string_view>

#include "src/core/failure.h"
#include "src/core/parse_number.h"

namespace foretell::measure {
namespace {

constexpr std::string_view kCudaPrefix = "cuda:";
constexpr int kMaxIndex = 127;

bool IsUuidCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
         (c >= 'A' && c <= 'Z') || c == '-' || c == '/';
}

}  // namespace

DeviceName ParseDeviceName(const std::string& text) {
  if (text == "cpu") return {};
  if (text == "cuda") return {.kind = DeviceKind::kCuda};
  if (text.starts_with("MIG-") && text.size() > 4 &&
      std::all_of(text.begin(), text.end(), IsUuidCharacter)) {
    return {.kind = DeviceKind::kMig, .mig_uuid = text};
  }
  if (text.starts_with(kCudaPrefix)) {
    const auto index =
        ParseNumber<int>(std::string_view(text).substr(kCudaPrefix.size()));
    if (index && *index >= 0 && *index <= kMaxIndex) {
      return {.kind = DeviceKind::kCuda, .index = *index};
    }
  }
  throw InvalidArgument("device '{}': expected cpu, cuda:N or MIG-UUID", text);
}

}  // namespace foretell::measure
