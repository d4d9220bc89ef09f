// Exact life of every storage, seen by the allocator.
//
// A DataPtr's deleter runs at the very moment its storage dies, so an allocator
// of our own sees births and deaths as eager LibTorch does them, tensors that
// autograd saves inside operators included. (Asking weak pointers after each
// operator misses those.) On meta an allocation is only a book-keeping record.
// On the CPU memory comes from the allocator that was there before, and the
// records are kept separately: LibTorch's raw_allocate needs a DataPtr's
// context to be the memory itself.
#include "src/program/storage_ledger.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "src/core/failure.h"

namespace foretell {
namespace {

constexpr std::uint8_t kPriority = 255;

struct Session {
  StorageListener* listener = nullptr;
  c10::DeviceType device = c10::DeviceType::Meta;
  std::uint64_t number = 0;
  std::size_t host_bytes = 0;  ///< Living ones of a trace on another device.
};

thread_local Session session;
std::uint64_t NextSessionNumber() {
  static std::atomic<std::uint64_t> next{1};
  return next++;
}

/// The session that a storage was reported to, and its number there.
struct Record {
  std::uint64_t session = 0;
  std::int32_t number = -1;    ///< -1 on the host.
  std::size_t host_bytes = 0;  ///< 0 for what was reported to the listener.
};

void RefuseAbove(std::size_t limit, std::size_t bytes, const char* where) {
  if (session.listener == nullptr || bytes <= limit) return;
  throw InvalidArgument(
      "asks for a tensor of {} bytes {}, at most {} are accepted", bytes, where,
      limit);
}

bool IsListening(c10::DeviceType device) {
  return session.listener != nullptr && session.device == device;
}

Record ReportBirth(std::size_t bytes) {
  return {session.number, session.listener->OnAllocate(bytes)};
}

/// Counts storages on the host of a trace on another device, so that no loop
/// fills the memory with small ones.
Record CountOnHost(std::size_t bytes) {
  RefuseAbove(kMaxHostBytes, bytes, "on the host");
  RefuseAbove(kMaxHostBytesInAll, session.host_bytes + bytes,
              "on the host, together with the others there");
  session.host_bytes += bytes;
  return {session.number, -1, bytes};
}

void ReportDeath(const Record& record) {
  if (session.listener == nullptr || record.session != session.number) return;
  session.host_bytes -= record.host_bytes;
  if (record.number >= 0) session.listener->OnFree(record.number);
}

class MetaLedgerAllocator final : public c10::Allocator {
 public:
  /// The context is a Record.
  c10::DataPtr allocate(std::size_t bytes) override {
    RefuseAbove(kMaxStorageBytes, bytes, "on the device");
    auto record = std::make_unique<Record>();
    if (IsListening(c10::DeviceType::Meta)) *record = ReportBirth(bytes);
    return {nullptr, record.release(), &Delete, c10::Device(c10::kMeta)};
  }
  void copy_data(void*, const void*, std::size_t) const override {}

 private:
  static void Delete(void* context) {
    const std::unique_ptr<Record> record(static_cast<Record*>(context));
    ReportDeath(*record);
  }
};

/// Records of the CPU's storages by their memory.
class CpuRecords {
 public:
  void Add(const void* memory, const Record& record) {
    const std::lock_guard<std::mutex> lock(mutex_);
    records_[memory] = record;
  }

  std::optional<Record> Find(const void* memory) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = records_.find(memory);
    if (found == records_.end()) return std::nullopt;
    return found->second;
  }

  std::optional<Record> Remove(const void* memory) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto node = records_.extract(memory);
    if (node.empty()) return std::nullopt;
    return node.mapped();
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<const void*, Record> records_;
};

/// Never destroyed: storages may outlive every static.
CpuRecords& RecordsOfCpu() {
  static CpuRecords* const records = new CpuRecords;
  return *records;
}

class CpuLedgerAllocator final : public c10::Allocator {
 public:
  explicit CpuLedgerAllocator(c10::Allocator* wrapped) : wrapped_(wrapped) {
    raw_delete = wrapped->raw_deleter();
  }

  c10::DataPtr allocate(std::size_t bytes) override {
    if (session.listener == nullptr) return wrapped_->allocate(bytes);
    const bool is_traced = IsListening(c10::DeviceType::CPU);
    if (is_traced) RefuseAbove(kMaxStorageBytes, bytes, "on the device");
    const Record on_host = is_traced ? Record() : CountOnHost(bytes);
    void* const memory = wrapped_->raw_allocate(bytes);
    if (memory != nullptr) {
      RecordsOfCpu().Add(memory, is_traced ? ReportBirth(bytes) : on_host);
    }
    return {memory, memory, &Delete, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &Delete; }
  void copy_data(void* to, const void* from, std::size_t count) const override {
    default_copy_data(to, from, count);
  }

 private:
  static void Delete(void* memory) {
    const std::optional<Record> record = RecordsOfCpu().Remove(memory);
    if (record) ReportDeath(*record);
    raw_delete(memory);
  }

  static inline c10::DeleterFnPtr raw_delete = nullptr;
  c10::Allocator* wrapped_;
};

}  // namespace

void InstallLedgerAllocators() {
  static std::once_flag once;
  std::call_once(once, [] {
    static MetaLedgerAllocator meta;
    static CpuLedgerAllocator cpu(c10::GetCPUAllocator());
    c10::SetAllocator(c10::DeviceType::Meta, &meta, kPriority);
    c10::SetCPUAllocator(&cpu, kPriority);
  });
}

ListenScope::ListenScope(StorageListener& listener, c10::DeviceType device) {
  session = {&listener, device, NextSessionNumber()};
}

ListenScope::~ListenScope() { session = {}; }

UnlistenedScope::UnlistenedScope()
    : listener_(std::exchange(session.listener, nullptr)) {}

UnlistenedScope::~UnlistenedScope() { session.listener = listener_; }

std::int32_t LedgerNumber(const void* context, c10::DeviceType device) {
  if (context == nullptr || !IsListening(device)) return -1;
  const std::optional<Record> record =
      device == c10::DeviceType::CPU
          ? RecordsOfCpu().Find(context)
          : std::optional(*static_cast<const Record*>(context));
  return record && record->session == session.number ? record->number : -1;
}

}  // namespace foretell
