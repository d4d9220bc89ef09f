#pragma once

#include <caffe2/serialize/inline_container.h>
#include <caffe2/serialize/read_adapter_interface.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "foretell/error.h"
#include "src/core/files.h"

namespace foretell {

/// Input of LibTorch's archive reader: the checked, open file, not one that has
/// since replaced it at its path.
class OpenArchive : public caffe2::serialize::ReadAdapterInterface {
 public:
  explicit OpenArchive(std::shared_ptr<const RegularFile> file)
      : file_(std::move(file)) {}

  std::size_t size() const override {
    return static_cast<std::size_t>(file_->size);
  }
  std::size_t read(std::uint64_t position, void* to, std::size_t count,
                   const char* what) const override;

 private:
  std::shared_ptr<const RegularFile> file_;
};

/// Content of the record `name`.
std::string RecordText(caffe2::serialize::PyTorchStreamReader& reader,
                       const std::string& name);

/// Names of all records. Throws Error(kUnsupported) for more than a million.
std::vector<std::string> RecordNames(
    const std::string& path, caffe2::serialize::PyTorchStreamReader& reader);

/// Error(kCorrupt) for what LibTorch threw for the archive `path`. To be called
/// where an exception that is not an Error was caught.
Error DamagedArchive(const std::string& path);

/// Calls `work`, which reads the archive `path`: exceptions of LibTorch become
/// DamagedArchive, an Error stays.
template <typename Work>
auto ReadingArchive(const std::string& path, const Work& work) {
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const std::exception&) {
    throw DamagedArchive(path);
  }
}

}  // namespace foretell
