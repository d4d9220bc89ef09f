// The frontend reads models; here are bare tensors and lists of tensors. Rather
// than converting Protobuf tensors a second time, each one is wrapped on the
// wire into the smallest model that has it as an initializer and goes through
// the frontend's reader. Only the outer SequenceProto and OptionalProto are
// taken apart here. Field numbers: onnx-ml.proto.
//
// Releases of onnx before 1.17 had no NumPy type for bfloat16 and wrote such
// tensors as UINT16; the type that the model declares tells them apart.

#include "tests/conformance/case_value.h"

#include <cstdint>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>

#include "foretell/error.h"

namespace foretell::conformance {
namespace {

using onnx::TypeInfo;

// SequenceProto and OptionalProto number their alternatives alike.
constexpr std::uint64_t kTensorField = 3;
constexpr std::uint64_t kSparseTensorField = 4;
constexpr std::uint64_t kSequenceField = 5;
constexpr std::uint64_t kOptionalField = 7;

constexpr std::uint64_t kModelIrVersion = 1;
constexpr std::uint64_t kModelGraph = 7;
constexpr std::uint64_t kModelOpsetImport = 8;
constexpr std::uint64_t kOpsetVersion = 2;
constexpr std::uint64_t kGraphName = 2;
constexpr std::uint64_t kGraphInitializer = 5;
constexpr std::uint64_t kTensorName = 8;

// TensorProto.DataType.
constexpr std::int32_t kUInt16Code = 4;
constexpr std::int32_t kBFloat16Code = 16;

enum WireType { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };

// ---- Writing ---------------------------------------------------------------

void AppendVarint(std::uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) {
    out.push_back(static_cast<char>(value | 0x80));
  }
  out.push_back(static_cast<char>(value));
}

std::string VarintField(std::uint64_t number, std::uint64_t value) {
  std::string field;
  AppendVarint(number << 3 | kVarint, field);
  AppendVarint(value, field);
  return field;
}

std::string BytesField(std::uint64_t number, std::string_view payload) {
  std::string field;
  AppendVarint(number << 3 | kLengthDelimited, field);
  AppendVarint(payload.size(), field);
  field += payload;
  return field;
}

// The last name of a message wins, so that nameless tensors get one.
std::string ModelAround(std::string_view tensor) {
  const std::string named =
      std::string(tensor) + BytesField(kTensorName, "value");
  return VarintField(kModelIrVersion, 8) +
         BytesField(kModelGraph, BytesField(kGraphName, "wrapper") +
                                     BytesField(kGraphInitializer, named)) +
         BytesField(kModelOpsetImport, VarintField(kOpsetVersion, 17));
}

// ---- Reading ---------------------------------------------------------------

struct Field {
  std::uint64_t number = 0;
  std::string_view payload;  ///< Of a length-delimited field, else empty.
};

/// The fields of one message, first to last.
class FieldReader {
 public:
  FieldReader(std::string_view message, const std::string& origin)
      : rest_(message), origin_(origin) {}

  std::optional<Field> Next() {
    if (rest_.empty()) return std::nullopt;
    const std::uint64_t tag = Varint();
    Field field{.number = tag >> 3};
    switch (tag & 7) {
      case kVarint:
        Varint();
        break;
      case kFixed64:
        Take(8);
        break;
      case kLengthDelimited:
        field.payload = Take(Varint());
        break;
      case kFixed32:
        Take(4);
        break;
      default:
        Fail("unknown wire type " + std::to_string(tag & 7));
    }
    return field;
  }

 private:
  std::uint64_t Varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(Take(1).front());
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    Fail("a varint is longer than 64 bits");
  }

  std::string_view Take(std::uint64_t size) {
    if (size > rest_.size()) {
      Fail("needs " + std::to_string(size) + " bytes, " +
           std::to_string(rest_.size()) + " are left");
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }

  [[noreturn]] void Fail(const std::string& message) const {
    throw Error(ErrorCode::kCorrupt, origin_ + ": " + message);
  }

  std::string_view rest_;
  const std::string& origin_;
};

onnx::TensorLiteral ReadTensor(std::string_view bytes,
                               const std::string& origin) {
  const onnx::ReadOptions everything{
      .max_payload_bytes = std::numeric_limits<std::int64_t>::max()};
  onnx::Model model =
      onnx::ReadModelFromBytes(ModelAround(bytes), origin, everything);
  return std::move(model.graph.initializers.front());
}

onnx::TensorLiteral ReadTensorOfType(std::string_view bytes,
                                     const TypeInfo& type,
                                     const std::string& origin) {
  onnx::TensorLiteral tensor = ReadTensor(bytes, origin);
  if (type.elem_type == kBFloat16Code && tensor.data_type == kUInt16Code) {
    tensor.data_type = kBFloat16Code;
  }
  return tensor;
}

CaseValue ReadSequence(std::string_view bytes, const std::string& origin) {
  CaseValue value{.kind = CaseValue::Kind::kSequence};
  FieldReader reader(bytes, origin);
  while (const std::optional<Field> field = reader.Next()) {
    if (field->number == kTensorField) {
      value.tensors.push_back(ReadTensor(field->payload, origin));
    } else if (field->number >= kSparseTensorField &&
               field->number <= kOptionalField) {
      throw Error(ErrorCode::kUnsupported,
                  origin + ": a sequence whose elements are not tensors");
    }
  }
  return value;
}

CaseValue ReadOptional(std::string_view bytes, const std::string& origin) {
  FieldReader reader(bytes, origin);
  while (const std::optional<Field> field = reader.Next()) {
    if (field->number == kTensorField) {
      return {CaseValue::Kind::kTensor, {ReadTensor(field->payload, origin)}};
    }
    if (field->number == kSequenceField) {
      return ReadSequence(field->payload, origin);
    }
    if (field->number >= kSparseTensorField &&
        field->number <= kOptionalField) {
      throw Error(ErrorCode::kUnsupported,
                  origin + ": an optional map, sparse tensor or optional");
    }
  }
  return {};
}

}  // namespace

CaseValue ReadCaseValueFromBytes(std::string_view bytes, const TypeInfo& type,
                                 const std::string& origin) {
  switch (type.kind) {
    case TypeInfo::Kind::kUnknown:
    case TypeInfo::Kind::kTensor:
      return {CaseValue::Kind::kTensor,
              {ReadTensorOfType(bytes, type, origin)}};
    case TypeInfo::Kind::kSequence:
      return ReadSequence(bytes, origin);
    case TypeInfo::Kind::kOptional:
      return ReadOptional(bytes, origin);
    case TypeInfo::Kind::kMap:
    case TypeInfo::Kind::kSparseTensor:
      break;
  }
  throw Error(ErrorCode::kUnsupported,
              origin + ": a value of type map or sparse tensor");
}

CaseValue ReadCaseValue(const std::filesystem::path& path,
                        const TypeInfo& type) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorCode::kIo, path.string() + ": cannot be read");
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  return ReadCaseValueFromBytes(bytes, type, path.string());
}

}  // namespace foretell::conformance
