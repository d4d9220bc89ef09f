#include "datasets/views/npz.h"

#include <fmt/core.h>
#include <zlib.h>

#include <limits>

#include "src/core/failure.h"
#include "src/core/output_file.h"

namespace foretell::dataset {
namespace {

constexpr std::size_t kNpyAlignment = 64;
constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kCentralHeader = 0x02014b50;
constexpr std::uint32_t kEndOfDirectory = 0x06054b50;
constexpr std::uint16_t kZipVersion = 20;
/// Midnight of 1 January 1980: the same arrays give the same file.
constexpr std::uint16_t kZipTime = 0;
constexpr std::uint16_t kZipDate = (1 << 5) | 1;

void Add16(std::string& bytes, std::size_t value) {
  bytes += static_cast<char>(value & 0xff);
  bytes += static_cast<char>((value >> 8) & 0xff);
}

void Add32(std::string& bytes, std::size_t value) {
  Add16(bytes, value & 0xffff);
  Add16(bytes, (value >> 16) & 0xffff);
}

/// What the local and the central header of a member have in common.
std::string MemberFields(const std::string& name, std::string_view content) {
  const auto crc = static_cast<std::uint32_t>(crc32_z(
      0, reinterpret_cast<const Bytef*>(content.data()), content.size()));
  std::string fields;
  Add16(fields, kZipVersion);
  Add16(fields, 0);  // Flags.
  Add16(fields, 0);  // Stored.
  Add16(fields, kZipTime);
  Add16(fields, kZipDate);
  Add32(fields, crc);
  Add32(fields, content.size());
  Add32(fields, content.size());
  Add16(fields, name.size());
  Add16(fields, 0);  // Extra field.
  return fields;
}

std::string CentralEntry(const std::string& name, const std::string& fields,
                         std::size_t offset) {
  std::string entry;
  Add32(entry, kCentralHeader);
  Add16(entry, kZipVersion);  // Made by.
  entry += fields;
  Add16(entry, 0);  // Comment.
  Add16(entry, 0);  // Disk.
  Add16(entry, 0);  // Internal attributes.
  Add32(entry, 0);  // External attributes.
  Add32(entry, offset);
  return entry + name;
}

template <typename T>
std::string_view BytesOf(std::span<const T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace

NpyArray::NpyArray(const char* dtype, const std::vector<std::int64_t>& shape,
                   std::string_view values) {
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': (", dtype);
  for (const std::int64_t size : shape) header += fmt::format("{},", size);
  header += "), }";
  const std::size_t prefix = 10;  // Magic, version and length.
  const std::size_t used = prefix + header.size() + 1;
  const std::size_t padding =
      (kNpyAlignment - used % kNpyAlignment) % kNpyAlignment;
  header += std::string(padding, ' ') + "\n";
  bytes_ = std::string("\x93NUMPY\x01\x00", 8);
  Add16(bytes_, header.size());
  bytes_ += header;
  bytes_ += values;
}

NpyArray NpyArray::Of(std::span<const float> values,
                      std::vector<std::int64_t> shape) {
  return {"<f4", shape, BytesOf(values)};
}

NpyArray NpyArray::Of(std::span<const double> values,
                      std::vector<std::int64_t> shape) {
  return {"<f8", shape, BytesOf(values)};
}

NpyArray NpyArray::Of(std::span<const std::int64_t> values,
                      std::vector<std::int64_t> shape) {
  return {"<i8", shape, BytesOf(values)};
}

void WriteNpz(const std::string& path, const std::vector<NamedArray>& arrays) {
  OutputFile file(path);
  std::string directory;
  std::size_t offset = 0;
  for (const auto& [array_name, array] : arrays) {
    const std::string name = array_name + ".npy";
    const std::string fields = MemberFields(name, array.bytes());
    std::string header;
    Add32(header, kLocalHeader);
    header += fields + name;
    directory += CentralEntry(name, fields, offset);
    offset += header.size() + array.bytes().size();
    if (offset > std::numeric_limits<std::uint32_t>::max()) {
      throw Unsupported("{}: more than 4 GiB of arrays in one file", path);
    }
    file.Write(header);
    file.Write(array.bytes());
  }
  std::string end;
  Add32(end, kEndOfDirectory);
  Add32(end, 0);  // Disks.
  Add16(end, arrays.size());
  Add16(end, arrays.size());
  Add32(end, directory.size());
  Add32(end, offset);
  Add16(end, 0);  // Comment.
  file.Write(directory + end);
  file.Close();
}

}  // namespace foretell::dataset
