#pragma once

#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>

namespace foretell {

/// Told of every storage that this thread allocates or frees while it is active.
class StorageListener {
 public:
  virtual ~StorageListener() = default;
  /// Returns the number by which Free will name the storage.
  virtual std::int32_t OnAllocate(std::size_t bytes) = 0;
  virtual void OnFree(std::int32_t storage) = 0;
};

/// Installs LibTorch allocators for `device` (meta or cpu) that report to the
/// listener of the calling thread. On meta they hand out no memory at all. They
/// stay installed and pass everything through while nobody listens. Thread-safe.
void InstallLedgerAllocator(c10::DeviceType device);

/// Makes `listener` the one of this thread for `device` while it lives. Storages
/// that were allocated under another listener are not reported to this one.
class ListenScope {
 public:
  ListenScope(StorageListener& listener, c10::DeviceType device);
  ~ListenScope();
  ListenScope(const ListenScope&) = delete;
  ListenScope& operator=(const ListenScope&) = delete;
};

/// The number that the present listener gave to the storage whose DataPtr has
/// `context`, or -1. `context` must come from a storage on `device`.
std::int32_t LedgerNumber(const void* context, c10::DeviceType device);

}  // namespace foretell
