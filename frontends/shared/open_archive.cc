#include "frontends/shared/open_archive.h"

#include <c10/util/Exception.h>
#include <unistd.h>

#include <cerrno>
#include <exception>

#include "src/core/failure.h"
#include "src/core/libtorch_message.h"

namespace foretell {
namespace {

constexpr std::size_t kMostRecords = 1'000'000;

}  // namespace

std::size_t OpenArchive::read(std::uint64_t position, void* to,
                              std::size_t count, const char* /*what*/) const {
  auto* next = static_cast<char*>(to);
  std::size_t done = 0;
  while (done < count) {
    const ssize_t got =
        pread(file_->descriptor.number(), next + done, count - done,
              static_cast<off_t>(position + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

std::string RecordText(caffe2::serialize::PyTorchStreamReader& reader,
                       const std::string& name) {
  const auto [data, size] = reader.getRecord(name);
  return std::string(static_cast<const char*>(data.get()), size);
}

std::vector<std::string> RecordNames(
    const std::string& path, caffe2::serialize::PyTorchStreamReader& reader) {
  std::vector<std::string> names = reader.getAllRecords();
  if (names.size() <= kMostRecords) return names;
  throw Unsupported("{}: has {} records, at most {} are read", path,
                    names.size(), kMostRecords);
}

Error DamagedArchive(const std::string& path) {
  std::string what;
  try {
    throw;
  } catch (const c10::Error& error) {
    what = LibTorchMessage(error.what_without_backtrace());
  } catch (const std::exception& error) {
    what = error.what();
  }
  return Corrupt("{}: damaged archive: {}", path, what);
}

}  // namespace foretell
