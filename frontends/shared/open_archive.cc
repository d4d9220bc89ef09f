#include "frontends/shared/open_archive.h"

#include <unistd.h>

#include <cerrno>

namespace foretell {

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

}  // namespace foretell
