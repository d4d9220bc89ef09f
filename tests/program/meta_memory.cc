#include "tests/program/meta_memory.h"

#include <c10/core/Allocator.h>
#include <c10/core/impl/alloc_cpu.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <unordered_map>

namespace foretell::meta_test {
namespace {

constexpr std::uint8_t kAbovePriorityOfAllOthers = 255;

// Counts the bytes of blocks; those on the meta device have no memory.
//
// LibTorch wants a block's context to be the block itself, so the sizes are
// kept beside.
class CountingAllocator final : public c10::Allocator {
 public:
  explicit CountingAllocator(c10::Device device) : device_(device) {}

  c10::DataPtr allocate(std::size_t bytes) override {
    const bool is_real = device_.is_cpu();
    void* const block = is_real ? c10::alloc_cpu(bytes) : std::malloc(1);
    if (block != nullptr) Register(block, bytes);
    return {is_real ? block : nullptr, block, raw_deleter(), device_};
  }

  c10::DeleterFnPtr raw_deleter() const override {
    return device_.is_cpu() ? &FreeCpu : &FreeMeta;
  }

  void copy_data(void* to, const void* from, std::size_t n) const override {
    if (device_.is_cpu()) std::memcpy(to, from, n);
  }

  std::int64_t live_bytes() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return live_bytes_;
  }

 private:
  static void FreeCpu(void* block);
  static void FreeMeta(void* block);

  void Register(void* block, std::size_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    sizes_[block] = static_cast<std::int64_t>(bytes);
    live_bytes_ += static_cast<std::int64_t>(bytes);
  }

  void Unregister(void* block) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto it = sizes_.find(block);
    if (it == sizes_.end()) return;
    live_bytes_ -= it->second;
    sizes_.erase(it);
  }

  c10::Device device_;
  mutable std::mutex mutex_;
  std::unordered_map<void*, std::int64_t> sizes_;
  std::int64_t live_bytes_ = 0;
};

// Never destroyed: storages may outlive every static.
CountingAllocator* Install(c10::DeviceType device) {
  auto* const allocator = new CountingAllocator(device);
  c10::SetAllocator(device, allocator, kAbovePriorityOfAllOthers);
  return allocator;
}

CountingAllocator& MetaAllocator() {
  static CountingAllocator* const kAllocator = Install(c10::kMeta);
  return *kAllocator;
}

CountingAllocator& CpuAllocator() {
  static CountingAllocator* const kAllocator = Install(c10::kCPU);
  return *kAllocator;
}

void CountingAllocator::FreeCpu(void* block) {
  CpuAllocator().Unregister(block);
  c10::free_cpu(block);
}

void CountingAllocator::FreeMeta(void* block) {
  MetaAllocator().Unregister(block);
  std::free(block);
}

}  // namespace

std::int64_t LiveMetaBytes() { return MetaAllocator().live_bytes(); }

std::int64_t LiveCpuBytes() { return CpuAllocator().live_bytes(); }

}  // namespace foretell::meta_test
