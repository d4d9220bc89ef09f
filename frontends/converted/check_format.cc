// A converter costs a gigabyte of packages, and seconds until its framework
// runs: files that are not of the format at all are refused before that. Only
// what each format fixes is checked:
//
// * HDF5 (format specification 3.0, II.A): a superblock at byte 0, 512, 1024,
//   2048, …, whose version fixes where the sizes and the file's end are stored.
// * zip (APPNOTE.TXT 4.3.16): the end of the central directory, in the last
//   64 KiB; a Keras archive names its files there.
// * FlatBuffers: the root's offset, then the identifier that the schema gives.
// * Protocol buffers: the fields of the outermost message, whose lengths add up
//   to the file.
#include "frontends/converted/check_format.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "src/core/failure.h"
#include "src/core/parse_json.h"
#include "src/core/units.h"

namespace foretell::converted {
namespace {

constexpr std::string_view kHdf5Mark = "\x89HDF\r\n\x1a\n";
constexpr std::string_view kZipMark = "PK\x03\x04";
constexpr std::string_view kZipEnd = "PK\x05\x06";
constexpr std::string_view kTfLiteMark = "TFL3";
constexpr std::int64_t kMostConfigBytes = 16 * kMiB;

/// `count` bytes of the file starting at `offset`, fewer at its end.
std::string BytesAt(const RegularFile& file, std::int64_t offset,
                    std::size_t count) {
  std::string bytes(count, '\0');
  ssize_t got = 0;
  do {
    got = pread(file.descriptor.number(), bytes.data(), count, offset);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    throw IoFailure("{}: cannot be read: {}", file.path, SystemMessage(errno));
  }
  bytes.resize(static_cast<std::size_t>(got));
  return bytes;
}

/// A little-endian number of `size` bytes; 0 beyond the end.
std::uint64_t NumberAt(std::string_view bytes, std::size_t offset,
                       std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t i = size; i-- > 0;) {
    const std::size_t at = offset + i;
    const auto byte = at < bytes.size() ? bytes[at] : '\0';
    number = number << 8 | static_cast<unsigned char>(byte);
  }
  return number;
}

/// By the version of a superblock: where the size of an address is stored, and
/// the addresses, of which the third is the end of the file.
struct Superblock {
  std::size_t size_at;
  std::size_t addresses_at;
};
constexpr std::array<Superblock, 4> kSuperblocks = {
    {{13, 24}, {13, 28}, {9, 12}, {9, 12}}};
constexpr std::size_t kSuperblockBytes = 96;

std::string SuperblockProblem(const RegularFile& file, std::int64_t offset) {
  const std::string block = BytesAt(file, offset, kSuperblockBytes);
  const std::uint64_t version = NumberAt(block, kHdf5Mark.size(), 1);
  if (version >= kSuperblocks.size()) {
    return fmt::format("its superblock has version {}, expected 0 to 3",
                       version);
  }
  const Superblock& form = kSuperblocks[version];
  const std::uint64_t size = NumberAt(block, form.size_at, 1);
  if (size != 2 && size != 4 && size != 8) {
    return fmt::format("its addresses have {} bytes, expected 2, 4 or 8", size);
  }
  const std::uint64_t end = NumberAt(block, form.addresses_at + 2 * size, size);
  if (end <= static_cast<std::uint64_t>(file.size)) return "";
  return fmt::format("it ends at byte {}, and the file has {}", end, file.size);
}

bool IsZip(const RegularFile& file) {
  return BytesAt(file, 0, kZipMark.size()) == kZipMark;
}

/// A field of a message: its number and its wire type.
struct Field {
  std::uint64_t number;
  std::uint64_t wire;
  bool is_needed;
};
constexpr std::uint64_t kVarint = 0;
constexpr std::uint64_t kLengthDelimited = 2;
constexpr int kMostFields = 100'000;
/// Of a tag and a length.
constexpr std::size_t kFieldHeadBytes = 20;

std::optional<std::uint64_t> TakeVarint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

/// Walks through the outermost message, whose fields are `known`.
std::string MessageProblem(const RegularFile& file,
                           std::span<const Field> known) {
  std::uint64_t seen = 0;
  std::int64_t at = 0;
  for (int fields = 0; at < file.size && fields < kMostFields; ++fields) {
    const std::string head = BytesAt(file, at, kFieldHeadBytes);
    std::string_view rest = head;
    const std::uint64_t tag = TakeVarint(rest).value_or(0);
    const auto field = std::ranges::find(known, tag >> 3, &Field::number);
    if (field == known.end() || field->wire != (tag & 7)) {
      return fmt::format("byte {}: field {} of wire type {} is unknown", at,
                         tag >> 3, tag & 7);
    }
    seen |= std::uint64_t{1} << field->number;
    const std::uint64_t value = TakeVarint(rest).value_or(UINT64_MAX);
    at += std::ssize(head) - std::ssize(rest);
    if (field->wire == kVarint) continue;
    const auto left = static_cast<std::uint64_t>(file.size - at);
    if (value > left) {
      return fmt::format("byte {}: field {} has {} bytes, {} are left", at,
                         field->number, value, left);
    }
    at += static_cast<std::int64_t>(value);
  }
  for (const Field& field : known) {
    const bool is_there = (seen >> field.number & 1) != 0;
    if (field.is_needed && !is_there) {
      return fmt::format("field {} is missing", field.number);
    }
  }
  return "";
}

/// Blocks, then versions of the program and of operators.
constexpr Field kProgramDesc[] = {{1, kLengthDelimited, true},
                                  {4, kLengthDelimited, false},
                                  {5, kLengthDelimited, false}};
/// Version, then graphs.
constexpr Field kSavedModel[] = {{1, kVarint, false},
                                 {2, kLengthDelimited, true}};

}  // namespace

std::string Hdf5Problem(const RegularFile& file) {
  for (std::int64_t at = 0; at < file.size; at = at == 0 ? 512 : 2 * at) {
    if (BytesAt(file, at, kHdf5Mark.size()) == kHdf5Mark) {
      return SuperblockProblem(file, at);
    }
  }
  return "its first bytes are those of another format";
}

std::string KerasProblem(const RegularFile& file) {
  // Files that Keras 2 wrote with this ending may be HDF5.
  if (!IsZip(file)) {
    const std::string problem = Hdf5Problem(file);
    return problem.empty() ? "" : "it is not a zip archive";
  }
  constexpr std::int64_t kTailBytes = 64 * kKiB + 22;
  const std::int64_t tail_at =
      std::max<std::int64_t>(0, file.size - kTailBytes);
  const std::string tail =
      BytesAt(file, tail_at, static_cast<std::size_t>(kTailBytes));
  if (tail.rfind(kZipEnd) == std::string::npos) {
    return "its zip archive is cut short";
  }
  if (tail.find("config.json") == std::string::npos) {
    return "its zip archive has no config.json";
  }
  return "";
}

std::string TfLiteProblem(const RegularFile& file) {
  const std::string head = BytesAt(file, 0, 8);
  if (head.size() < 8 || std::string_view(head).substr(4) != kTfLiteMark) {
    return "bytes 4 to 7 are not TFL3";
  }
  const std::uint64_t root = NumberAt(head, 0, 4);
  if (root < static_cast<std::uint64_t>(file.size)) return "";
  return fmt::format("its root is at byte {}, and the file has {}", root,
                     file.size);
}

std::string PaddleProblem(const RegularFile& file) {
  return MessageProblem(file, kProgramDesc);
}

std::string PaddleJsonProblem(const RegularFile& file) {
  const std::string head = BytesAt(file, 0, 4096);
  const std::size_t text = head.find_first_not_of(" \t\r\n");
  if (text == std::string::npos || head[text] != '{') {
    return "it is not a JSON object";
  }
  return head.find("\"base_code\"") == std::string::npos
             ? "its JSON does not begin with base_code"
             : "";
}

std::string SavedModelProblem(const RegularFile& file) {
  return MessageProblem(file, kSavedModel);
}

std::string ConfigProblem(const RegularFile& file) {
  if (file.size > kMostConfigBytes) {
    return fmt::format("it has {} bytes, expected at most {}", file.size,
                       kMostConfigBytes);
  }
  const nlohmann::json config = ParseJson(
      BytesAt(file, 0, static_cast<std::size_t>(file.size)), file.path);
  if (!config.is_object()) return "it is not a JSON object";
  if (config.contains("auto_map")) {
    return "it defines its network in its own code (auto_map), which foretell "
           "does not run; export it with torch.export";
  }
  const auto kind = config.find("model_type");
  return kind == config.end() || !kind->is_string() ? "it names no model_type"
                                                    : "";
}

}  // namespace foretell::converted
