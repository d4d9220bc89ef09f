// A safetensors file begins with eight bytes, the length of a JSON object that
// follows: name -> {"dtype", "shape", "data_offsets"}, and "__metadata__". Only
// that is read, because the file is refused anyway.
#include "frontends/converted/weights_alone.h"

#include <fmt/core.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "src/core/checked.h"
#include "src/core/failure.h"
#include "src/core/files.h"
#include "src/core/numbers.h"
#include "src/core/parse_json.h"
#include "src/core/text.h"

namespace foretell::converted {
namespace {

constexpr std::size_t kLengthBytes = 8;
/// Far above any network's.
constexpr std::uint64_t kMostHeaderBytes = 16 << 20;
constexpr char kMetadata[] = "__metadata__";

struct Weights {
  std::int64_t tensors = 0;
  std::int64_t elements = 0;
  std::map<std::string, std::int64_t> by_type;
};

nlohmann::json ReadHeader(const RegularFile& file) {
  const std::string start = FirstBytes(file, kLengthBytes);
  const auto size = static_cast<std::uint64_t>(file.size);
  if (start.size() < kLengthBytes) {
    throw Corrupt("{}: has {}, not a safetensors file", file.path,
                  Counted(size, "byte"));
  }
  std::uint64_t length = 0;
  std::memcpy(&length, start.data(), kLengthBytes);
  if (length > kMostHeaderBytes || length > size - kLengthBytes) {
    throw Corrupt("{}: header of {} in a file of {}", file.path,
                  Counted(length, "byte"), size);
  }
  const std::string text = FirstBytes(file, kLengthBytes + length);
  nlohmann::json header = ParseJson(std::string_view(text).substr(kLengthBytes),
                                    file.path + ": header");
  if (!header.is_object()) {
    throw Corrupt("{}: header is not a JSON object", file.path);
  }
  return header;
}

/// Elements of a tensor; a byte of the file holds at most two of them.
std::int64_t ElementsOf(const RegularFile& file, const std::string& name,
                        const nlohmann::json& shape) {
  std::vector<std::int64_t> sizes;
  for (const nlohmann::json& size : shape) {
    sizes.push_back(size.is_number_unsigned() ? size.get<std::int64_t>() : -1);
  }
  const std::optional<std::int64_t> elements = CheckedProduct(sizes);
  if (!elements || *elements / 2 > file.size) {
    throw Corrupt("{}: tensor '{}' has the shape {} in {}", file.path, name,
                  ShowJson(shape), Counted(file.size, "byte"));
  }
  return *elements;
}

Weights CountWeights(const RegularFile& file) {
  Weights weights;
  const nlohmann::json header = ReadHeader(file);
  for (const auto& [name, tensor] : header.items()) {
    if (name == kMetadata) continue;
    const bool is_whole = tensor.is_object() && tensor.contains("dtype") &&
                          tensor.contains("shape") &&
                          tensor["dtype"].is_string() &&
                          tensor["shape"].is_array();
    if (!is_whole) {
      throw Corrupt("{}: tensor '{}' has no type and shape", file.path, name);
    }
    const std::int64_t elements = ElementsOf(file, name, tensor["shape"]);
    ++weights.tensors;
    weights.by_type[tensor["dtype"]] += elements;
    weights.elements += elements;
  }
  return weights;
}

void RefuseSafetensors(const std::string& path) {
  const Weights weights = CountWeights(OpenRegularFile(path, kAnySize));
  std::vector<std::string> types;
  for (const auto& [type, elements] : weights.by_type) {
    types.push_back(fmt::format("{} of {}", elements, type));
  }
  throw Unsupported(
      "{}: holds weights but no network: {} with {} ({}); put its config.json "
      "next to it, or export the network with torch.export",
      path, Counted(weights.tensors, "tensor"),
      Counted(weights.elements, "element"), Joined(types));
}

}  // namespace

void RefuseWeightsAlone(const std::string& path) {
  if (path.ends_with(".safetensors")) RefuseSafetensors(path);
  if (path.ends_with(".pdiparams")) {
    throw Unsupported(
        "{}: holds weights but no network; name the .json or .pdmodel file "
        "next to it",
        path);
  }
}

}  // namespace foretell::converted
