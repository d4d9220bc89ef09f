#include "frontends/exported/read_argument.h"

#include <c10/core/Layout.h>
#include <c10/core/MemoryFormat.h>
#include <fmt/core.h>

#include <utility>

namespace foretell::exported {
namespace {

using List = std::vector<Argument>;

constexpr std::pair<std::int64_t, at::ScalarType> kScalarTypes[] = {
    {1, at::kByte},
    {2, at::kChar},
    {3, at::kShort},
    {4, at::kInt},
    {5, at::kLong},
    {6, at::kHalf},
    {7, at::kFloat},
    {8, at::kDouble},
    {9, at::kComplexHalf},
    {10, at::kComplexFloat},
    {11, at::kComplexDouble},
    {12, at::kBool},
    {13, at::kBFloat16},
    {28, at::kUInt16},
    {29, at::kFloat8_e4m3fn},
    {30, at::kFloat8_e5m2},
    {31, at::kFloat8_e4m3fnuz},
    {32, at::kFloat8_e5m2fnuz},
    {34, at::kUInt32},
    {35, at::kUInt64},
};

constexpr std::pair<std::int64_t, at::MemoryFormat> kMemoryFormats[] = {
    {1, at::MemoryFormat::Contiguous},
    {2, at::MemoryFormat::ChannelsLast},
    {3, at::MemoryFormat::ChannelsLast3d},
    {4, at::MemoryFormat::Preserve},
};

constexpr std::int64_t kStrided = 7;

class ArgumentReader {
 public:
  ArgumentReader(const Document& document, const SlotOf& slot_of,
                 const ReadInner& read_inner)
      : document_(document), slot_of_(slot_of), read_inner_(read_inner) {}

  Argument Read(const Json& value) const {
    const auto [kind, content] = document_.ToUnion(value);
    for (const Row& row : Rows()) {
      if (row.kind == kind) return (this->*row.read)(*content);
    }
    document_.Refuse(fmt::format("arguments of kind '{}' are not known", kind));
  }

 private:
  using Method = Argument (ArgumentReader::*)(const Json&) const;
  struct Row {
    std::string_view kind;
    Method read;
  };

  static Argument Constant(c10::IValue value) {
    return {.name = {}, .value = std::move(value)};
  }

  Argument None(const Json&) const { return Constant({}); }
  Argument Int(const Json& value) const {
    return Constant(document_.ToInt(value));
  }
  Argument Float(const Json& value) const {
    return Constant(document_.ToDouble(value));
  }
  Argument Bool(const Json& value) const {
    return Constant(document_.ToBool(value));
  }
  Argument String(const Json& value) const {
    return Constant(document_.ToText(value));
  }
  Argument Tensor(const Json& value) const {
    return {.name = {}, .value = Slot{slot_of_(document_.Text(value, "name"))}};
  }
  /// A name of a value, or a number instead.
  Argument Symbolic(const Json& value) const {
    const auto [kind, content] = document_.ToUnion(value);
    if (kind == "as_name") {
      return {.name = {}, .value = Slot{slot_of_(document_.ToText(*content))}};
    }
    return Read(value);
  }
  Argument ScalarType(const Json& value) const {
    const at::ScalarType type =
        ReadScalarType(document_, document_.ToInt(value));
    return Constant(static_cast<std::int64_t>(type));
  }
  Argument MemoryFormat(const Json& value) const {
    const std::int64_t code = document_.ToInt(value);
    for (const auto& [number, format] : kMemoryFormats) {
      if (number == code) return Constant(static_cast<std::int64_t>(format));
    }
    document_.Refuse(fmt::format("memory format {} is not known", code));
  }
  Argument Layout(const Json& value) const {
    const std::int64_t code = document_.ToInt(value);
    if (code == kStrided) {
      return Constant(static_cast<std::int64_t>(at::Layout::Strided));
    }
    document_.Refuse(fmt::format(
        "layout {}: sparse tensors are not supported, only strided ones",
        code));
  }
  Argument Device(const Json&) const { return Constant(at::Device(at::kMeta)); }
  Argument Complex(const Json& value) const {
    return Constant(c10::complex<double>(
        document_.ToDouble(document_.Member(value, "real")),
        document_.ToDouble(document_.Member(value, "imag"))));
  }
  Argument InnerGraph(const Json& value) const {
    return {.name = {}, .value = read_inner_(document_.Object(value, "graph"))};
  }
  Argument Object(const Json&) const {
    document_.Refuse(
        "has an argument of a custom class, which is not supported");
  }

  template <Method kRead>
  Argument ListOf(const Json& value) const {
    List list;
    for (const Json& element : document_.ToList(value)) {
      list.push_back((this->*kRead)(element));
    }
    return {.name = {}, .value = std::move(list)};
  }

  static const std::vector<Row>& Rows();

  const Document& document_;
  const SlotOf& slot_of_;
  const ReadInner& read_inner_;
};

const std::vector<ArgumentReader::Row>& ArgumentReader::Rows() {
  using Self = ArgumentReader;
  static const std::vector<Row> rows = {
      {"as_tensor", &Self::Tensor},
      {"as_int", &Self::Int},
      {"as_ints", &Self::ListOf<&Self::Int>},
      {"as_float", &Self::Float},
      {"as_bool", &Self::Bool},
      {"as_none", &Self::None},
      {"as_tensors", &Self::ListOf<&Self::Tensor>},
      {"as_sym_int", &Self::Symbolic},
      {"as_sym_ints", &Self::ListOf<&Self::Symbolic>},
      {"as_string", &Self::String},
      {"as_scalar_type", &Self::ScalarType},
      {"as_memory_format", &Self::MemoryFormat},
      {"as_layout", &Self::Layout},
      {"as_device", &Self::Device},
      {"as_floats", &Self::ListOf<&Self::Float>},
      {"as_strings", &Self::ListOf<&Self::String>},
      {"as_bools", &Self::ListOf<&Self::Bool>},
      {"as_sym_bool", &Self::Symbolic},
      {"as_sym_bools", &Self::ListOf<&Self::Symbolic>},
      {"as_sym_float", &Self::Symbolic},
      {"as_sym_floats", &Self::ListOf<&Self::Symbolic>},
      {"as_optional_tensor", &Self::Read},
      {"as_optional_tensors", &Self::ListOf<&Self::Read>},
      {"as_nested_tensors", &Self::ListOf<&Self::ListOf<&Self::Tensor>>},
      {"as_int_lists", &Self::ListOf<&Self::ListOf<&Self::Int>>},
      {"as_float_lists", &Self::ListOf<&Self::ListOf<&Self::Float>>},
      {"as_complex", &Self::Complex},
      {"as_operator", &Self::String},
      {"as_graph", &Self::InnerGraph},
      {"as_string_to_argument", &Self::None},
      {"as_custom_obj", &Self::Object},
  };
  return rows;
}

}  // namespace

Argument ReadArgument(const Document& document, const Json& value,
                      const SlotOf& slot_of, const ReadInner& read_inner) {
  return ArgumentReader(document, slot_of, read_inner).Read(value);
}

at::ScalarType ReadScalarType(const Document& document, std::int64_t code) {
  for (const auto& [number, type] : kScalarTypes) {
    if (number == code) return type;
  }
  document.Refuse(fmt::format("element type {} is not known", code));
}

}  // namespace foretell::exported
