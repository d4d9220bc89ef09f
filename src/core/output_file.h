#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace foretell {

/// Writes a file atomically: to a temporary name next to it, which Close
/// renames. Without Close no file remains. Throws Error(kIo) that names the
/// path.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void Write(std::string_view bytes);
  void Close();

 private:
  [[noreturn]] void Fail(const char* what) const;

  std::string path_;
  std::string temporary_;
  std::FILE* file_ = nullptr;
};

/// Throws what WriteWhole throws if such a file cannot be created, and leaves
/// none behind. To be called before long work.
void RequireWritable(const std::string& path);

/// Replaces a file atomically and flushes it to disk. Throws Error(kIo) that
/// names the path.
void WriteWhole(const std::string& path, std::string_view bytes);

}  // namespace foretell
