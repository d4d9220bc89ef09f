#include "src/core/output_file.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>

#include "src/core/descriptor.h"
#include "src/core/failure.h"

namespace foretell {

OutputFile::OutputFile(const std::string& path)
    : path_(path),
      temporary_(fmt::format("{}.tmp{}", path, getpid())),
      file_(std::fopen(temporary_.c_str(), "wbe")) {
  if (file_ == nullptr) Fail("cannot be created");
}

OutputFile::~OutputFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  std::remove(temporary_.c_str());
}

void OutputFile::Fail(const char* what) const {
  throw IoFailure("{}: {}: {}", path_, what, SystemMessage(errno));
}

void OutputFile::Write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) {
    Fail("cannot be written");
  }
}

void OutputFile::Close() {
  if (std::fflush(file_) != 0 || fsync(fileno(file_)) != 0) {
    Fail("cannot be written");
  }
  std::fclose(file_);
  file_ = nullptr;
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) {
    std::remove(temporary_.c_str());
    Fail("cannot be renamed into place");
  }
}

void RequireWritable(const std::string& path) { const OutputFile file(path); }

void WriteWhole(const std::string& path, std::string_view bytes) {
  OutputFile file(path);
  file.Write(bytes);
  file.Close();
}

}  // namespace foretell
