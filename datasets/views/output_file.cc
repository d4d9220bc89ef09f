#include "datasets/views/output_file.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "foretell/error.h"

namespace foretell::dataset {

OutputFile::OutputFile(const std::string& path)
    : path_(path),
      temporary_(fmt::format("{}.tmp{}", path, getpid())),
      file_(std::fopen(temporary_.c_str(), "wb")) {
  if (file_ == nullptr) Fail("cannot be created");
}

OutputFile::~OutputFile() {
  if (file_ == nullptr) return;
  std::fclose(file_);
  std::remove(temporary_.c_str());
}

void OutputFile::Fail(const char* what) const {
  throw Error(ErrorCode::kIo,
              fmt::format("{}: {}: {}", path_, what, std::strerror(errno)));
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
    Fail("cannot be put in place");
  }
}

}  // namespace foretell::dataset
