#include "frontends/torchscript/archive.h"

#include <c10/util/Exception.h>
#include <caffe2/serialize/inline_container.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "foretell/error.h"
#include "frontends/torchscript/constants.h"
#include "frontends/torchscript/pickle_check.h"
#include "src/core/units.h"

namespace foretell::torchscript {
namespace {

/// Largest sum of the records that are kept (code, pickles, constants).
constexpr std::uint64_t kMaxKeptBytes = 256 * kMiB;
constexpr std::size_t kMaxRecords = 1'000'000;

bool IsWeight(const std::string& name) { return name.rfind("data/", 0) == 0; }

/// Records that a run does not need: source ranges, and the writer's own.
bool IsDropped(const std::string& name) {
  return name.ends_with(".debug_pkl") || name == "version" ||
         name == "byteorder" || name.rfind(".data/", 0) == 0 ||
         name.rfind("extra/", 0) == 0;
}

void RequireRegularFile(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status =
      std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) {
    throw Error(ErrorCode::kNotFound, path + ": no such file");
  }
  if (status.type() != std::filesystem::file_type::regular) {
    throw Error(ErrorCode::kIo, path + ": not a regular file");
  }
}

std::string RecordText(caffe2::serialize::PyTorchStreamReader& reader,
                       const std::string& name) {
  const auto [data, size] = reader.getRecord(name);
  return std::string(static_cast<const char*>(data.get()), size);
}

SlimArchive Slim(const std::string& path) {
  caffe2::serialize::PyTorchStreamReader reader(path);
  const std::vector<std::string> names = reader.getAllRecords();
  if (names.size() > kMaxRecords) {
    throw Error(ErrorCode::kUnsupported,
                path + ": has " + std::to_string(names.size()) +
                    " records, at most 1000000 are read");
  }
  if (!reader.hasRecord("data.pkl") || !reader.hasRecord("constants.pkl")) {
    throw Error(ErrorCode::kCorrupt,
                path +
                    ": a zip archive, but not TorchScript: no data.pkl or "
                    "no constants.pkl");
  }
  RefuseShortConstants(path, reader);
  SlimArchive slim;
  std::uint64_t kept = 0;
  caffe2::serialize::PyTorchStreamWriter writer(
      [&slim](const void* data, std::size_t size) {
        slim.bytes.append(static_cast<const char*>(data), size);
        return size;
      });
  // The version chooses between meanings that an operator has had.
  writer.setMinVersion(reader.version());
  for (const std::string& name : names) {
    if (IsDropped(name)) continue;
    if (IsWeight(name)) {
      writer.writeRecord(name, "", 1);
      continue;
    }
    kept += reader.getRecordSize(name);
    if (kept > kMaxKeptBytes) {
      throw Error(ErrorCode::kUnsupported,
                  path + ": code and constants exceed 256 MiB at record '" +
                      name + "'");
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

SlimArchive ReadSlimArchive(const std::string& path) {
  RequireRegularFile(path);
  try {
    return Slim(path);
  } catch (const Error&) {
    throw;
  } catch (const c10::Error& error) {
    const std::string text = error.what_without_backtrace();
    throw Error(ErrorCode::kCorrupt,
                path + ": damaged archive: " + text.substr(0, text.find('\n')));
  } catch (const std::exception& error) {
    throw Error(ErrorCode::kCorrupt,
                path + ": damaged archive: " + error.what());
  }
}

}  // namespace foretell::torchscript
