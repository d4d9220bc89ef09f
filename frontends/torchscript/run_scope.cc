#include "frontends/torchscript/run_scope.h"

#include <optional>
#include <string>

#include "src/core/failure.h"
#include "src/program/autocast.h"

namespace foretell::torchscript {
namespace {

thread_local RunScope* current_scope = nullptr;

/// The attribute `name` of a saved autocast object.
c10::IValue AttributeOf(const c10::ivalue::Object& region,
                        const std::string& name) {
  const auto slot = region.type()->findAttributeSlot(name);
  if (slot) return region.getSlot(*slot);
  throw Corrupt("an object of {} has no attribute '{}'",
                region.type()->repr_str(), name);
}

bool IsEnabled(const c10::ivalue::Object& region) {
  const c10::IValue enabled = AttributeOf(region, "_enabled");
  if (enabled.isBool()) return enabled.toBool();
  throw Corrupt("autocast's attribute '_enabled' is no flag");
}

at::ScalarType TypeOf(const c10::ivalue::Object& region) {
  const c10::IValue type = AttributeOf(region, "fast_dtype");
  const std::int64_t code = type.isInt() ? type.toInt() : -1;
  constexpr auto kF16 = static_cast<std::int64_t>(at::kHalf);
  constexpr auto kBf16 = static_cast<std::int64_t>(at::kBFloat16);
  if (code != kF16 && code != kBf16) {
    throw Unsupported(
        "autocast to element type {}, expected f16 ({}) or bf16 ({})", code,
        kF16, kBf16);
  }
  return static_cast<at::ScalarType>(code);
}

}  // namespace

class RunScope::Region {
 public:
  Region(c10::DeviceType device, const c10::ivalue::Object& region) {
    if (IsEnabled(region)) {
      on_.emplace(device, AutocastMode{TypeOf(region)});
    } else {
      off_.emplace();
    }
  }

 private:
  std::optional<AutocastRegion> on_;
  std::optional<AutocastPause> off_;
};

RunScope::RunScope(c10::DeviceType device, ModeChange change)
    : device_(device), change_(change) {
  if (current_scope != nullptr) {
    throw InternalFailure("a TorchScript file already runs");
  }
  current_scope = this;
}

RunScope::~RunScope() {
  while (!regions_.empty()) regions_.pop_back();
  current_scope = nullptr;
}

RunScope* RunScope::Current() { return current_scope; }

void RunScope::BeginAutocast(const c10::ivalue::Object& region) {
  regions_.push_back(std::make_unique<Region>(device_, region));
}

void RunScope::EndAutocast() {
  if (!regions_.empty()) regions_.pop_back();
}

}  // namespace foretell::torchscript
