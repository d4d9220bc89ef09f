#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace foretell {

/// A file that appears under its name when it is complete: it is written under
/// another name next to it and renamed by Close. Without Close nothing is left
/// behind. Throws Error(kIo) that names the path.
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

/// Throws what WriteWhole throws where no such file can be made, and leaves
/// nothing there: to be asked before long work.
void RequireWritable(const std::string& path);

/// Writes a file that is either the old one or the new one, whatever happens;
/// flushed to the disk. Throws Error(kIo) that names the path.
void WriteWhole(const std::string& path, std::string_view bytes);

}  // namespace foretell
