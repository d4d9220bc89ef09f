// Exact life of every storage, seen by the allocator.
//
// A DataPtr's deleter runs at the very moment its storage dies, so an allocator
// of our own sees births and deaths as eager LibTorch does them, tensors that
// autograd saves inside operators included. (Asking weak pointers after each
// operator misses those.) On meta an allocation is only a book-keeping record.
// On the CPU the record wraps the memory of the allocator that was there before.

#include "src/program/storage_ledger.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <atomic>
#include <memory>
#include <mutex>

namespace foretell {
namespace {

constexpr std::uint8_t kPriority = 255;

struct Session {
  StorageListener* listener = nullptr;
  c10::DeviceType device = c10::DeviceType::Meta;
  std::uint64_t number = 0;
};

thread_local Session session;
std::uint64_t NextSessionNumber() {
  static std::atomic<std::uint64_t> next{1};
  return next++;
}

/// What a DataPtr's context points at.
struct Record {
  std::uint64_t session = 0;
  std::int32_t number = -1;
  c10::DataPtr memory;  ///< Of the wrapped allocator; empty on meta.
};

void DeleteRecord(void* context) {
  const std::unique_ptr<Record> record(static_cast<Record*>(context));
  if (session.listener != nullptr && record->session == session.number) {
    session.listener->OnFree(record->number);
  }
}

std::unique_ptr<Record> NewRecord(std::size_t bytes, c10::DeviceType device) {
  auto record = std::make_unique<Record>();
  if (session.listener != nullptr && session.device == device) {
    record->session = session.number;
    record->number = session.listener->OnAllocate(bytes);
  }
  return record;
}

class MetaLedgerAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    Record* record = NewRecord(bytes, c10::DeviceType::Meta).release();
    return {nullptr, record, &DeleteRecord, c10::Device(c10::kMeta)};
  }
  void copy_data(void*, const void*, std::size_t) const override {}
};

class CpuLedgerAllocator final : public c10::Allocator {
 public:
  explicit CpuLedgerAllocator(c10::Allocator* wrapped) : wrapped_(wrapped) {}

  c10::DataPtr allocate(std::size_t bytes) override {
    if (session.listener == nullptr || session.device != c10::kCPU) {
      return wrapped_->allocate(bytes);
    }
    std::unique_ptr<Record> record = NewRecord(bytes, c10::DeviceType::CPU);
    record->memory = wrapped_->allocate(bytes);
    void* data = record->memory.get();
    return {data, record.release(), &DeleteRecord, c10::Device(c10::kCPU)};
  }
  void copy_data(void* to, const void* from, std::size_t count) const override {
    default_copy_data(to, from, count);
  }

 private:
  c10::Allocator* wrapped_;
};

}  // namespace

void InstallLedgerAllocator(c10::DeviceType device) {
  static std::once_flag meta_once;
  static std::once_flag cpu_once;
  if (device == c10::DeviceType::Meta) {
    std::call_once(meta_once, [] {
      static MetaLedgerAllocator allocator;
      c10::SetAllocator(c10::DeviceType::Meta, &allocator, kPriority);
    });
  } else {
    std::call_once(cpu_once, [] {
      static CpuLedgerAllocator allocator(c10::GetCPUAllocator());
      c10::SetCPUAllocator(&allocator, kPriority);
    });
  }
}

ListenScope::ListenScope(StorageListener& listener, c10::DeviceType device) {
  session = {&listener, device, NextSessionNumber()};
}

ListenScope::~ListenScope() { session = {}; }

std::int32_t LedgerNumber(const void* context, c10::DeviceType device) {
  if (context == nullptr || session.listener == nullptr ||
      session.device != device) {
    return -1;
  }
  const Record* record = static_cast<const Record*>(context);
  return record->session == session.number ? record->number : -1;
}

}  // namespace foretell
