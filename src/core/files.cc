#include "src/core/files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "foretell/error.h"

namespace foretell {
namespace {

std::string SystemMessage(int error) {
  return std::generic_category().message(error);
}

/// A file open for reading, closed with the object.
class OpenFile {
 public:
  // O_NONBLOCK: opening a pipe that nobody writes must not wait.
  explicit OpenFile(const std::string& path)
      : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)),
        error_(errno) {}
  ~OpenFile() {
    if (file_ >= 0) close(file_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  bool is_open() const { return file_ >= 0; }
  /// Why it could not be opened.
  int error() const { return error_; }

  /// Its size; -1 for anything but a regular file.
  std::int64_t Size() const {
    struct stat status = {};
    const bool is_regular =
        fstat(file_, &status) == 0 && S_ISREG(status.st_mode);
    return is_regular ? status.st_size : -1;
  }

  /// Reads up to `count` bytes; fewer at the end. False for an error.
  bool Read(std::size_t count, std::string& bytes) const {
    bytes.resize(count);
    std::size_t done = 0;
    while (done < count) {
      const ssize_t got = read(file_, bytes.data() + done, count - done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return false;
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    bytes.resize(done);
    return true;
  }

 private:
  int file_;
  int error_;
};

}  // namespace

std::string ReadFile(const std::string& path, std::int64_t most_bytes) {
  const OpenFile file(path);
  if (!file.is_open()) {
    const bool is_absent = file.error() == ENOENT || file.error() == ENOTDIR;
    throw Error(is_absent ? ErrorCode::kNotFound : ErrorCode::kIo,
                path + ": cannot be opened: " + SystemMessage(file.error()));
  }
  const std::int64_t size = file.Size();
  if (size < 0) throw Error(ErrorCode::kIo, path + ": is no regular file");
  if (size > most_bytes) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{}: has {} bytes, expected at most {}", path, size,
                            most_bytes));
  }
  std::string bytes;
  if (!file.Read(static_cast<std::size_t>(size), bytes)) {
    throw Error(ErrorCode::kIo,
                path + ": cannot be read: " + SystemMessage(errno));
  }
  return bytes;
}

std::string FirstBytes(const std::string& path, std::size_t count) {
  const OpenFile file(path);
  std::string bytes;
  if (!file.is_open() || file.Size() < 0 || !file.Read(count, bytes)) return "";
  return bytes;
}

}  // namespace foretell
