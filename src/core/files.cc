#include "src/core/files.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <utility>

#include "foretell/error.h"
#include "src/core/failure.h"
#include "src/core/units.h"

namespace foretell {
namespace {

constexpr std::int64_t kMaxTextBytes = 16 * kMiB;

std::string_view FileTypeName(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "no regular file";
}

[[noreturn]] void RefuseOpen(const std::string& path, int error) {
  if (error == ENOENT || error == ENOTDIR) {
    throw Error(ErrorCode::kNotFound,
                path.empty() ? "no such file: the name is empty"
                             : fmt::format("{}: no such file", path));
  }
  throw IoFailure("{}: cannot be opened: {}", path, SystemMessage(error));
}

}  // namespace

RegularFile OpenRegularFile(const std::string& path, std::int64_t most_bytes) {
  // O_NONBLOCK: opening a pipe without a writer must not wait.
  Descriptor descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!descriptor.is_open()) RefuseOpen(path, errno);
  struct stat status = {};
  if (fstat(descriptor.number(), &status) != 0) RefuseOpen(path, errno);
  if (!S_ISREG(status.st_mode)) {
    throw IoFailure("{}: is {}, expected a regular file", path,
                    FileTypeName(status.st_mode));
  }
  if (status.st_size > most_bytes) {
    throw Unsupported("{}: has {} bytes, expected at most {}", path,
                      status.st_size, most_bytes);
  }
  return {std::move(descriptor), status.st_size, path};
}

std::string FirstBytes(const RegularFile& file, std::size_t count) {
  std::string bytes(count, '\0');
  std::size_t done = 0;
  while (done < count) {
    const ssize_t got = pread(file.descriptor.number(), bytes.data() + done,
                              count - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw IoFailure("{}: cannot be read: {}", file.path,
                      SystemMessage(errno));
    }
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

std::string ReadFile(const std::string& path, std::int64_t most_bytes) {
  const RegularFile file = OpenRegularFile(path, most_bytes);
  return FirstBytes(file, static_cast<std::size_t>(file.size));
}

std::optional<std::string> ReadFileIfAny(const std::string& path,
                                         std::int64_t most_bytes) {
  try {
    return ReadFile(path, most_bytes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kNotFound) throw;
    return std::nullopt;
  }
}

std::string ReadText(const std::string& path) {
  return ReadFile(path, kMaxTextBytes);
}

std::string FirstBytes(const std::string& path, std::size_t count) {
  try {
    return FirstBytes(OpenRegularFile(path, kAnySize), count);
  } catch (const Error&) {
    return "";
  }
}

}  // namespace foretell
