#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace foretell::dataset {

/// An array in NumPy's .npy format, version 1.0: row-major, little-endian.
class NpyArray {
 public:
  static NpyArray Of(std::span<const float> values,
                     std::vector<std::int64_t> shape);
  static NpyArray Of(std::span<const double> values,
                     std::vector<std::int64_t> shape);
  static NpyArray Of(std::span<const std::int64_t> values,
                     std::vector<std::int64_t> shape);

  /// The whole file.
  const std::string& bytes() const { return bytes_; }

 private:
  NpyArray(const char* dtype, const std::vector<std::int64_t>& shape,
           std::string_view values);
  std::string bytes_;
};

struct NamedArray {
  std::string name;
  NpyArray array;
};

/// Writes arrays as numpy.load reads them: a .npz, which is a zip of .npy
/// members, not compressed. Throws Error: kIo that names `path`, kUnsupported
/// for 4 GiB or more, which this kind of zip cannot hold.
void WriteNpz(const std::string& path, const std::vector<NamedArray>& arrays);

}  // namespace foretell::dataset
