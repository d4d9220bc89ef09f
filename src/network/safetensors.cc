// The safetensors format: eight bytes with the length of a header, the header,
// the data. The header is a JSON object: name → {"dtype", "shape",
// "data_offsets": [begin, end]}, and "__metadata__" → {string: string}. There
// is no code in it and nothing to execute, any language reads it, and all that
// can be wrong with it is checked here in one pass before data is touched.
#include "src/network/safetensors.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "src/core/checked.h"
#include "src/core/failure.h"
#include "src/core/numbers.h"
#include "src/core/parse_json.h"

namespace foretell::learned {
namespace {

static_assert(std::endian::native == std::endian::little);

using Json = nlohmann::json;

constexpr std::size_t kLengthBytes = 8;
/// Far above any network's, far below what would hurt.
constexpr std::uint64_t kMaxHeaderBytes = 16 << 20;
constexpr std::size_t kAlignment = 8;
constexpr char kMetadata[] = "__metadata__";

constexpr std::array<std::pair<std::string_view, std::int64_t>, 13>
    kStoredTypes = {{{"BOOL", 1},
                     {"U8", 1},
                     {"I8", 1},
                     {"U16", 2},
                     {"I16", 2},
                     {"F16", 2},
                     {"BF16", 2},
                     {"U32", 4},
                     {"I32", 4},
                     {"F32", 4},
                     {"U64", 8},
                     {"I64", 8},
                     {"F64", 8}}};

Json ParseHeader(std::string_view text, const std::string& origin) {
  Json header = ParseJson(text, origin + ": header");
  if (!header.is_object()) {
    throw Corrupt("{}: header is not a JSON object", origin);
  }
  return header;
}

std::int64_t NonNegative(const Json& value, const std::string& place,
                         const std::string& origin) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() > INT64_MAX) {
    throw Corrupt("{}: {} is {}, expected a size", origin, place,
                  ShowJson(value));
  }
  return value.get<std::int64_t>();
}

const Json& Member(const Json& entry, const char* name,
                   const std::string& place, const std::string& origin) {
  if (!entry.is_object() || !entry.contains(name)) {
    throw Corrupt("{}: {} has no '{}'", origin, place, name);
  }
  return entry.at(name);
}

struct Extent {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::string name;
};

std::int64_t ExpectedBytes(const StoredTensor& tensor, const std::string& place,
                           const std::string& origin) {
  const std::int64_t width = BytesPerElement(tensor.dtype);
  if (width == 0) {
    throw Corrupt("{}: {} is of type '{}', which is unknown", origin, place,
                  tensor.dtype);
  }
  const std::optional<std::int64_t> elements = CheckedProduct(tensor.shape);
  const std::optional<std::int64_t> bytes =
      elements ? CheckedMul(*elements, width) : std::nullopt;
  if (!bytes) {
    throw Corrupt("{}: {} has a shape that is too large", origin, place);
  }
  return *bytes;
}

/// Type and shape of one entry, and where its bytes are.
Extent ReadEntry(const std::string& name, const Json& entry,
                 const std::string& origin, StoredTensor& tensor) {
  const std::string place = fmt::format("tensor '{}'", name);
  const Json& dtype = Member(entry, "dtype", place, origin);
  if (!dtype.is_string()) {
    throw Corrupt("{}: {}: dtype is {}", origin, place, ShowJson(dtype));
  }
  tensor.dtype = dtype.get<std::string>();
  const Json& shape = Member(entry, "shape", place, origin);
  if (!shape.is_array()) {
    throw Corrupt("{}: {}: shape is {}", origin, place, ShowJson(shape));
  }
  for (const Json& size : shape) {
    tensor.shape.push_back(NonNegative(size, place + ": a size", origin));
  }
  const Json& offsets = Member(entry, "data_offsets", place, origin);
  if (!offsets.is_array() || offsets.size() != 2 || entry.size() != 3) {
    throw Corrupt("{}: {} is not dtype, shape and two data_offsets", origin,
                  place);
  }
  Extent extent{NonNegative(offsets[0], place + ": begin", origin),
                NonNegative(offsets[1], place + ": end", origin), name};
  const std::int64_t expected = ExpectedBytes(tensor, place, origin);
  if (extent.end - extent.begin != expected) {
    throw Corrupt("{}: {} has {}, expected {}", origin, place,
                  Counted(extent.end - extent.begin, "byte"), expected);
  }
  return extent;
}

void ReadMetadata(const Json& entry, const std::string& origin,
                  SafeTensors& content) {
  if (!entry.is_object()) {
    throw Corrupt("{}: __metadata__ is not an object", origin);
  }
  for (const auto& [key, value] : entry.items()) {
    if (!value.is_string()) {
      throw Corrupt("{}: __metadata__: '{}' is not a string", origin, key);
    }
    content.metadata[key] = value.get<std::string>();
  }
}

/// Reads every tensor's bytes, which must cover `data` exactly.
void ReadData(std::vector<Extent> extents, std::string_view data,
              const std::string& origin, SafeTensors& content) {
  std::ranges::sort(extents, {}, [](const Extent& extent) {
    return std::pair(extent.begin, extent.end);
  });
  std::int64_t position = 0;
  for (const Extent& extent : extents) {
    if (extent.begin != position) {
      throw Corrupt("{}: tensor '{}' begins at {}, expected {}", origin,
                    extent.name, extent.begin, position);
    }
    position = extent.end;
  }
  if (position != std::ssize(data)) {
    throw Corrupt("{}: data has {}, expected {}", origin,
                  Counted(data.size(), "byte"), position);
  }
  for (const Extent& extent : extents) {
    content.tensors[extent.name].bytes =
        data.substr(static_cast<std::size_t>(extent.begin),
                    static_cast<std::size_t>(extent.end - extent.begin));
  }
}

}  // namespace

std::int64_t StoredTensor::NumElements() const {
  return CheckedProduct(shape).value_or(0);
}

std::int64_t BytesPerElement(std::string_view dtype) {
  const auto* found = std::ranges::find(
      kStoredTypes, dtype, &std::pair<std::string_view, std::int64_t>::first);
  return found == kStoredTypes.end() ? 0 : found->second;
}

std::string SerializeSafeTensors(const SafeTensors& content) {
  Json header = Json::object();
  if (!content.metadata.empty()) header[kMetadata] = content.metadata;
  std::string data;
  for (const auto& [name, tensor] : content.tensors) {
    if (tensor.NumElements() * BytesPerElement(tensor.dtype) !=
        std::ssize(tensor.bytes)) {
      throw InternalFailure("tensor '{}' has {}, which is not its shape", name,
                            Counted(tensor.bytes.size(), "byte"));
    }
    const std::size_t begin = data.size();
    data += tensor.bytes;
    header[name] = {{"dtype", tensor.dtype},
                    {"shape", tensor.shape},
                    {"data_offsets", {begin, data.size()}}};
  }
  std::string text = header.dump();
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  const std::uint64_t length = text.size();
  std::string file(kLengthBytes, '\0');
  std::memcpy(file.data(), &length, kLengthBytes);
  return file + text + data;
}

SafeTensors ParseSafeTensors(std::string_view bytes,
                             const std::string& origin) {
  if (bytes.size() < kLengthBytes) {
    throw Corrupt("{}: has {}, expected at least 8", origin,
                  Counted(bytes.size(), "byte"));
  }
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), kLengthBytes);
  if (length > kMaxHeaderBytes || length > bytes.size() - kLengthBytes) {
    throw Corrupt(
        "{}: is not a checkpoint of `foretell train`, which is a safetensors "
        "file: a header of {} is announced in a file of {}",
        origin, Counted(length, "byte"), bytes.size());
  }
  const Json header = ParseHeader(bytes.substr(kLengthBytes, length), origin);
  SafeTensors content;
  std::vector<Extent> extents;
  for (const auto& [name, entry] : header.items()) {
    if (name == kMetadata) {
      ReadMetadata(entry, origin, content);
      continue;
    }
    extents.push_back(ReadEntry(name, entry, origin, content.tensors[name]));
  }
  ReadData(std::move(extents), bytes.substr(kLengthBytes + length), origin,
           content);
  return content;
}

}  // namespace foretell::learned
