// LibTorch's own reader opens the zip. Archives from before the format had a
// version keep their records at the top, which that reader refuses; they are
// known by the names at the end of the file, where a zip has its directory.
#include "frontends/exported/archive.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "frontends/exported/document.h"
#include "frontends/shared/open_archive.h"
#include "src/core/failure.h"
#include "src/core/text.h"
#include "src/core/units.h"

namespace foretell::exported {
namespace {

using ArchiveReader = caffe2::serialize::PyTorchStreamReader;

constexpr std::uint64_t kMostModelBytes = 64 * kMiB;
constexpr std::uint64_t kMostConfigBytes = 32 * kMiB;
constexpr std::uint64_t kMostNumberBytes = 16;
constexpr std::string_view kModels = "models/";
constexpr std::string_view kCompiled = "data/aotinductor/";
constexpr std::string_view kOldGraph = "serialized_exported_program.json";
constexpr const char* kMode = "extra/mode";
constexpr const char* kMarker = "archive_format";
/// Number of bytes that are searched at the end of an old archive.
constexpr std::size_t kDirectoryBytes = 65536;

/// For LibTorch's reader; the file must outlive it.
std::shared_ptr<OpenArchive> Borrowed(const RegularFile& file) {
  return std::make_shared<OpenArchive>(std::shared_ptr<const RegularFile>(
      std::shared_ptr<const RegularFile>(), &file));
}

/// The end of a file, where a zip has the names of its records.
std::string EndOf(const RegularFile& file) {
  const std::shared_ptr<OpenArchive> archive = Borrowed(file);
  const std::size_t count = std::min(archive->size(), kDirectoryBytes);
  std::string end(count, '\0');
  end.resize(archive->read(archive->size() - count, end.data(), count, ""));
  return end;
}

bool CanOpen(const RegularFile& file) {
  try {
    const ArchiveReader reader(Borrowed(file));
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

/// The end is checked first: opening reads all names of an archive.
bool IsOld(const RegularFile& file) {
  return EndOf(file).find(kOldGraph) != std::string::npos && !CanOpen(file);
}

std::string RecordOfSize(const std::string& path, ArchiveReader& reader,
                         const std::string& name, std::uint64_t most) {
  const std::uint64_t size = reader.getRecordSize(name);
  if (size > most) {
    throw Unsupported("{}: record '{}' has {} bytes, at most {} are read", path,
                      name, size, most);
  }
  return RecordText(reader, name);
}

/// NAME of each models/NAME.json.
std::vector<std::string> ModelNames(const std::vector<std::string>& records) {
  constexpr std::string_view kEnding = ".json";
  std::vector<std::string> names;
  for (const std::string& record : records) {
    if (!record.starts_with(kModels) || !record.ends_with(kEnding)) continue;
    names.push_back(record.substr(
        kModels.size(), record.size() - kModels.size() - kEnding.size()));
  }
  std::ranges::sort(names);
  return names;
}

[[noreturn]] void RefuseWithoutModel(const std::string& path,
                                     const std::vector<std::string>& records) {
  const bool compiled = std::ranges::any_of(
      records, [](const std::string& r) { return r.starts_with(kCompiled); });
  if (compiled) {
    throw Unsupported(
        "{}: an AOTInductor package, which holds compiled code but no graph; "
        "save its source program: torch.export.save(exported_program, path)",
        path);
  }
  throw Corrupt(
      "{}: an archive of torch.export without a graph: no models/*.json", path);
}

/// The model that `path` names; if it names none, "model" or the first.
std::string ChosenOf(const std::string& path,
                     const std::vector<std::string>& names) {
  const std::string file = FileOf(path);
  const bool is_named = file != path;
  const std::string wanted =
      is_named ? path.substr(file.size() + 1) : std::string("model");
  if (std::ranges::find(names, wanted) != names.end()) return wanted;
  if (!is_named) return names.front();
  throw InvalidArgument("{}: has no model '{}', but {}", path, wanted,
                        Joined(names));
}

/// The config that states in which record each weight or constant is.
std::optional<Document> ReadConfig(const std::string& path,
                                   ArchiveReader& reader,
                                   const std::string& record) {
  if (!reader.hasRecord(record)) return std::nullopt;
  return Document(RecordOfSize(path, reader, record, kMostConfigBytes),
                  fmt::format("{}: {}", path, record));
}

/// Record of each entry of a config, by name.
std::map<std::string, std::string> RecordsIn(const Document& config) {
  std::map<std::string, std::string> records;
  for (const auto& [name, entry] :
       config.Object(config.root(), "config").items()) {
    records[name] = config.Text(entry, "path_name");
  }
  return records;
}

void ReadNumbers(const std::string& path, ArchiveReader& reader,
                 Archive& archive) {
  const std::string folder = "data/constants/";
  const auto config = ReadConfig(
      path, reader, folder + archive.name + "_constants_config.json");
  if (!config) return;
  for (const auto& [name, record] : RecordsIn(*config)) {
    if (!reader.hasRecord(folder + record)) continue;
    const std::uint64_t size = reader.getRecordSize(folder + record);
    if (size == 0 || size > kMostNumberBytes) continue;
    archive.numbers[name] = RecordText(reader, folder + record);
  }
}

Archive Read(const std::string& path, ArchiveReader& reader) {
  const std::vector<std::string> records = RecordNames(path, reader);
  std::vector<std::string> names = ModelNames(records);
  if (names.empty()) RefuseWithoutModel(path, records);
  Archive archive{.name = ChosenOf(path, names)};
  archive.model = RecordOfSize(path, reader,
                               fmt::format("{}{}.json", kModels, archive.name),
                               kMostModelBytes);
  std::erase(names, archive.name);
  if (FileOf(path) == path) archive.others = std::move(names);
  const auto weights = ReadConfig(
      path, reader,
      fmt::format("data/weights/{}_weights_config.json", archive.name));
  if (weights) archive.records = RecordsIn(*weights);
  std::erase_if(archive.records, [&](const auto& entry) {
    const std::string record = "data/weights/" + entry.second;
    return !reader.hasRecord(record) || reader.getRecordSize(record) == 0;
  });
  ReadNumbers(path, reader, archive);
  if (reader.hasRecord(kMode) &&
      reader.getRecordSize(kMode) <= kMostNumberBytes)
    archive.mode = RecordText(reader, kMode);
  return archive;
}

}  // namespace

std::string FileOf(const std::string& path) {
  constexpr std::string_view kBetween = ".pt2:";
  const std::size_t found = path.rfind(kBetween);
  if (found == std::string::npos) return path;
  return path.substr(0, found + kBetween.size() - 1);
}

bool LooksExported(const RegularFile& file) {
  try {
    ArchiveReader reader(Borrowed(file));
    if (reader.hasRecord(kMarker)) return true;
    const std::vector<std::string> records = reader.getAllRecords();
    return std::ranges::any_of(records, [](const std::string& record) {
      return record.starts_with(kCompiled);
    });
  } catch (const std::exception&) {
    return IsOld(file);
  }
}

Archive ReadArchive(RegularFile file) {
  const std::string path = file.path;
  if (IsOld(file)) {
    throw Unsupported(
        "{}: written by torch.export of PyTorch < 2.8, which is not supported; "
        "export the network again with PyTorch 2.8 or newer",
        path);
  }
  return ReadingArchive(path, [&] {
    ArchiveReader reader(std::make_shared<OpenArchive>(
        std::make_shared<const RegularFile>(std::move(file))));
    return Read(path, reader);
  });
}

}  // namespace foretell::exported
