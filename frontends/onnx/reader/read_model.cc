#include <fmt/core.h>
#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <string>
#include <utility>

#include "foretell/error.h"
#include "frontends/onnx/reader/branch_weights.h"
#include "frontends/onnx/reader/byte_source.h"
#include "frontends/onnx/reader/constants.h"
#include "frontends/onnx/reader/convert.h"
#include "frontends/onnx/reader/file_type.h"
#include "frontends/onnx/reader/functions.h"
#include "frontends/onnx/reader/model.h"
#include "frontends/onnx/reader/text.h"
#include "frontends/onnx/reader/wire.h"
#include "src/core/failure.h"

namespace foretell::onnx {
namespace {

// Leaves that the scanner copies whole (a dimension, an operator set) are
// messages of their own.
constexpr int kProtobufNesting = kMaxNesting + 4;
constexpr std::int64_t kSignatureBytes = 512;

void Parse(const std::string& bytes, ::onnx::ModelProto& proto) {
  ::google::protobuf::io::CodedInputStream stream(
      reinterpret_cast<const std::uint8_t*>(bytes.data()),
      static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kProtobufNesting);
  if (!proto.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    throw Corrupt("Protobuf cannot parse it");
  }
}

Model ReadSource(ByteSource& source, const ReadOptions& options) {
  if (source.size() == 0) {
    throw Corrupt("not a model: it is empty");
  }
  const SlimModel slim =
      ScanModel(source, options.max_payload_bytes, options.max_mask_bytes);
  ::google::protobuf::Arena arena;
  auto& proto =
      *::google::protobuf::Arena::CreateMessage<::onnx::ModelProto>(&arena);
  Parse(slim.bytes, proto);
  Model model = ConvertModel(proto, slim.skipped, options);
  CheckFunctions(model);
  LiftBranchWeights(model.graph);
  LiftWeights(model.graph);
  return model;
}

std::string FirstBytes(ByteSource& source) {
  std::string bytes;
  source.Append(0, std::min(source.size(), kSignatureBytes), bytes);
  return bytes;
}

/// With a model's first field, the version of the format, which every writer
/// puts first.
bool BeginsLikeAModel(std::string_view head) {
  constexpr char kIrVersionTag = 0x08;
  constexpr char kMostIrVersion = 0x3F;
  return head.size() >= 2 && head[0] == kIrVersionTag && head[1] > 0 &&
         head[1] <= kMostIrVersion;
}

// A file of another kind fails somewhere on the wire; that place is of no use.
Model ReadOrExplain(ByteSource& source, const ReadOptions& options) {
  try {
    return ReadSource(source, options);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kCorrupt || source.size() == 0) throw;
    const std::string head = FirstBytes(source);
    const std::string_view type = GuessFileType(head);
    if (type.empty() && BeginsLikeAModel(head)) throw;
    if (type.empty()) {
      throw Error(error.code(),
                  fmt::format("not an ONNX file: {}", error.what()));
    }
    throw Corrupt("not an ONNX model: it looks like {}", type);
  }
}

}  // namespace

Model ReadModel(RegularFile file, const ReadOptions& options) {
  const std::string path = file.path;
  ByteSource source(std::move(file));
  Model model = InContext([&] { return path; },
                          [&] { return ReadOrExplain(source, options); });
  model.path = path;
  return model;
}

Model ReadModelFromBytes(std::string_view bytes, const std::string& origin,
                         const ReadOptions& options) {
  Model model = InContext([&] { return origin; },
                          [&] {
                            ByteSource source(bytes);
                            return ReadOrExplain(source, options);
                          });
  model.path = origin;
  return model;
}

}  // namespace foretell::onnx
