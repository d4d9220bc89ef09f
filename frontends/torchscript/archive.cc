#include "frontends/torchscript/archive.h"

#include <caffe2/serialize/inline_container.h>

#include <algorithm>
#include <memory>

#include "frontends/shared/open_archive.h"
#include "frontends/torchscript/constants.h"
#include "frontends/torchscript/pickle_check.h"
#include "src/core/failure.h"
#include "src/core/units.h"

namespace foretell::torchscript {
namespace {

/// Largest sum of the code and pickles, which LibTorch compresses; networks of
/// 1,500 operators have 1.5 MiB.
constexpr std::uint64_t kMaxCodeBytes = 16 * kMiB;
/// Largest sum of the constants.
constexpr std::uint64_t kMaxConstantBytes = 256 * kMiB;

bool IsWeight(const std::string& name) { return name.rfind("data/", 0) == 0; }

/// Records that a run does not need: source ranges, and the writer's own.
bool IsDropped(const std::string& name) {
  return name.ends_with(".debug_pkl") || name == "version" ||
         name == "byteorder" || name.rfind(".data/", 0) == 0 ||
         name.rfind("extra/", 0) == 0;
}

bool IsCode(const std::string& name) {
  return name.rfind("code/", 0) == 0 || name.ends_with(".pkl");
}

/// Refuses records that are larger than the limits, before one is read.
/// Constants are never compressed, so they cannot be larger than their file.
void RefuseLargeRecords(const std::string& path,
                        caffe2::serialize::PyTorchStreamReader& reader,
                        const std::vector<std::string>& names,
                        std::uint64_t file_size) {
  std::uint64_t code = 0;
  std::uint64_t constants = 0;
  for (const std::string& name : names) {
    if (IsDropped(name) || IsWeight(name)) continue;
    std::uint64_t& sum = IsCode(name) ? code : constants;
    // Sizes stated in a file may have any sum.
    sum = std::min(sum + std::min<std::uint64_t>(reader.getRecordSize(name),
                                                 kMaxConstantBytes + 1),
                   kMaxConstantBytes + 1);
    if (constants > file_size) {
      throw Corrupt(
          "{}: record '{}' and those before it have {} bytes, the file has {}",
          path, name, constants, file_size);
    }
    if (code > kMaxCodeBytes || constants > kMaxConstantBytes) {
      throw Unsupported(
          "{}: code exceeds 16 MiB or constants 256 MiB at record '{}'", path,
          name);
    }
  }
}

SlimArchive Slim(const std::string& path,
                 const std::shared_ptr<OpenArchive>& file) {
  caffe2::serialize::PyTorchStreamReader reader(file);
  const std::vector<std::string> names = RecordNames(path, reader);
  if (reader.hasRecord("model.json")) {
    throw Unsupported(
        "{}: is in the old format of TorchScript, whose code runs unread "
        "(record 'model.json'); load it in PyTorch and write it again by "
        "torch.jit.save",
        path);
  }
  if (!reader.hasRecord("data.pkl")) {
    throw Corrupt(
        "{}: a zip archive, but neither TorchScript (it has no data.pkl) nor "
        "of torch.export",
        path);
  }
  if (!reader.hasRecord("constants.pkl")) {
    throw Unsupported(
        "{}: Python objects of torch.save, for example weights, not a network; "
        "save the network with torch.export.save, torch.jit.save or "
        "torch.onnx.export",
        path);
  }
  RefuseLargeRecords(path, reader, names, file->size());
  RefuseShortConstants(path, reader);
  SlimArchive slim;
  caffe2::serialize::PyTorchStreamWriter writer(
      [&slim](const void* data, std::size_t size) {
        slim.bytes.append(static_cast<const char*>(data), size);
        return size;
      });
  // The version selects among the meanings that an operator has had.
  writer.setMinVersion(reader.version());
  for (const std::string& name : names) {
    if (IsDropped(name)) continue;
    if (IsWeight(name)) {
      writer.writeRecord(name, "", 1);
      continue;
    }
    const std::string record = RecordText(reader, name);
    if (name.ends_with(".pkl")) RefuseBadPickle(path, name, record);
    writer.writeRecord(name, record.data(), record.size());
    if (name.rfind("code/", 0) == 0) slim.code.emplace_back(name, record);
  }
  writer.writeEndOfFile();
  return slim;
}

}  // namespace

bool LooksLikeZip(std::string_view first_bytes) {
  return first_bytes.substr(0, 4) == std::string_view("PK\3\4", 4);
}

SlimArchive ReadSlimArchive(RegularFile file) {
  const std::string path = file.path;
  return ReadingArchive(path, [&] {
    return Slim(path,
                std::make_shared<OpenArchive>(
                    std::make_shared<const RegularFile>(std::move(file))));
  });
}

}  // namespace foretell::torchscript
