#include "frontends/onnx/reader/attribute_kind.h"

#include "src/core/failure.h"

namespace foretell::onnx {
namespace {

using Kind = Attribute::Kind;
using Proto = ::onnx::AttributeProto;

struct KindRow {
  Proto::AttributeType type;
  Kind kind;
  bool (*has_value)(const Proto& proto);
  bool has_default;  ///< proto3 writers leave out zeros and empty lists.
};

// In the order of the schema's fields.
constexpr KindRow kKinds[] = {
    {Proto::FLOAT, Kind::kFloat, [](const Proto& p) { return p.has_f(); },
     true},
    {Proto::INT, Kind::kInt, [](const Proto& p) { return p.has_i(); }, true},
    {Proto::STRING, Kind::kString, [](const Proto& p) { return p.has_s(); },
     true},
    {Proto::TENSOR, Kind::kTensor, [](const Proto& p) { return p.has_t(); },
     false},
    {Proto::GRAPH, Kind::kGraph, [](const Proto& p) { return p.has_g(); },
     false},
    {Proto::SPARSE_TENSOR, Kind::kSparseTensor,
     [](const Proto& p) { return p.has_sparse_tensor(); }, false},
    {Proto::TYPE_PROTO, Kind::kType, [](const Proto& p) { return p.has_tp(); },
     false},
    {Proto::FLOATS, Kind::kFloats,
     [](const Proto& p) { return p.floats_size() > 0; }, true},
    {Proto::INTS, Kind::kInts, [](const Proto& p) { return p.ints_size() > 0; },
     true},
    {Proto::STRINGS, Kind::kStrings,
     [](const Proto& p) { return p.strings_size() > 0; }, true},
    {Proto::TENSORS, Kind::kTensors,
     [](const Proto& p) { return p.tensors_size() > 0; }, true},
    {Proto::GRAPHS, Kind::kGraphs,
     [](const Proto& p) { return p.graphs_size() > 0; }, true},
    {Proto::SPARSE_TENSORS, Kind::kSparseTensors,
     [](const Proto& p) { return p.sparse_tensors_size() > 0; }, true},
    {Proto::TYPE_PROTOS, Kind::kTypes,
     [](const Proto& p) { return p.type_protos_size() > 0; }, true},
};

}  // namespace

Kind AttributeKindOf(const Proto& proto) {
  for (const KindRow& row : kKinds) {
    if (proto.type() == row.type) return row.kind;
  }
  for (const KindRow& row : kKinds) {
    if (row.has_value(proto)) return row.kind;
  }
  return Kind::kUndefined;
}

void RequireAttributeValue(const Proto& proto, Kind kind) {
  for (const KindRow& row : kKinds) {
    if (row.kind != kind || row.has_default || row.has_value(proto)) continue;
    throw Corrupt("it has no value of its type");
  }
}

}  // namespace foretell::onnx
