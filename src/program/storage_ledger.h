#pragma once

#include <c10/core/Device.h>

#include <cstddef>
#include <cstdint>

namespace foretell {

/// Called for every storage that this thread allocates or frees while it is
/// active.
class StorageListener {
 public:
  virtual ~StorageListener() = default;
  /// Returns the number by which Free will name the storage.
  virtual std::int32_t OnAllocate(std::size_t bytes) = 0;
  virtual void OnFree(std::int32_t storage) = 0;
};

/// Largest storage that a trace accepts. No device holds a pebibyte, and sums
/// of many such storages still fit in 64 bits.
inline constexpr std::size_t kMaxStorageBytes = std::size_t{1} << 50;
/// Largest host storage while a trace runs on meta: there the CPU only holds
/// shape arithmetic and small constants.
inline constexpr std::size_t kMaxHostBytes = std::size_t{1} << 28;
/// The same for all living ones together.
inline constexpr std::size_t kMaxHostBytesInAll = std::size_t{5} << 26;

/// Installs LibTorch allocators for the meta device and the CPU that report to
/// the listener of the calling thread. On meta they hand out no memory at all.
/// They stay installed and pass everything through without a listener.
/// Thread-safe.
///
/// With a listener, a storage above kMaxStorageBytes, or above
/// kMaxHostBytes (kMaxHostBytesInAll) on the CPU of a trace on meta, throws
/// Error(kInvalidArgument) with both sizes.
void InstallLedgerAllocators();

/// Makes `listener` the one of this thread for `device` while it lives.
/// Storages that were allocated under another listener are not reported to this
/// one.
class ListenScope {
 public:
  ListenScope(StorageListener& listener, c10::DeviceType device);
  ~ListenScope();
  ListenScope(const ListenScope&) = delete;
  ListenScope& operator=(const ListenScope&) = delete;
};

/// While it lives, storages that this thread makes are not reported, and their
/// sizes are not checked. None that was reported may die meanwhile.
class UnlistenedScope {
 public:
  UnlistenedScope();
  ~UnlistenedScope();
  UnlistenedScope(const UnlistenedScope&) = delete;
  UnlistenedScope& operator=(const UnlistenedScope&) = delete;

 private:
  StorageListener* listener_;
};

/// The number that the present listener gave to the storage whose DataPtr has
/// `context`, or -1. `context` must come from a storage on `device`.
std::int32_t LedgerNumber(const void* context, c10::DeviceType device);

}  // namespace foretell
