#include "src/device/nvidia_smi.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "src/core/failure.h"
#include "src/core/ignoring_case.h"
#include "src/core/parse_number.h"

namespace foretell::device {
namespace {

constexpr std::int64_t kMostMib = 1 << 24;  // As in files of devices.
constexpr double kMostWatts = 1e5;

std::string_view Trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(Trimmed(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// The first value of each field of a text, with the lines they stand in.
class Fields {
 public:
  explicit Fields(std::string_view origin) : origin_(origin) {}

  void Add(std::string_view key, std::string_view value, std::size_t line) {
    const auto [at, is_new] =
        values_.try_emplace(std::string(key), Value{value, line});
    if (!is_new && key == "Product Name" && at->second.text != value) {
      Fail(line, fmt::format("'{}' after '{}': ask nvidia-smi for one of them "
                             "with -i",
                             value, at->second.text));
    }
  }

  /// The first of `keys` with a value other than "N/A"; "" if none.
  std::string_view Text(std::initializer_list<const char*> keys) const {
    const auto* field = Find(keys);
    return field == nullptr ? "" : field->second.text;
  }

  /// As Text, a number in front of a unit; 0 if none.
  template <typename T>
  T Number(std::initializer_list<const char*> keys, T most) const {
    const auto* field = Find(keys);
    if (field == nullptr) return 0;
    const auto& [key, value] = *field;
    std::string_view text = value.text;
    const std::optional<T> number = TakeNumber<T>(text);
    const bool has_unit = text.empty() || text.front() == ' ';
    if (!number || !has_unit || !(*number >= 0 && *number <= most)) {
      Fail(value.line,
           fmt::format("{} is '{}', expected a number of at least 0", key,
                       value.text));
    }
    return *number;
  }

  [[noreturn]] void Fail(std::size_t line, const std::string& what) const {
    throw Corrupt("{}:{}: {}", origin_, line, what);
  }

 private:
  struct Value {
    std::string_view text;
    std::size_t line = 0;
  };
  using Field = std::pair<const std::string, Value>;

  static bool IsStated(std::string_view value) {
    return !value.empty() && value.find("N/A") == std::string_view::npos &&
           value.find("Not Supported") == std::string_view::npos &&
           value.find("Not Found") == std::string_view::npos;
  }

  const Field* Find(std::initializer_list<const char*> keys) const {
    for (const char* key : keys) {
      const auto found = values_.find(key);
      if (found != values_.end() && IsStated(found->second.text)) {
        return &*found;
      }
    }
    return nullptr;
  }

  std::string_view origin_;
  std::map<std::string, Value, std::less<>> values_;
};

/// Lines of `nvidia-smi -q`: "FB Memory Usage/Total" for what is indented below
/// a section of a GPU.
void ReadQuery(const std::vector<std::string_view>& lines,
               const std::vector<std::size_t>& indents, Fields& fields) {
  constexpr std::size_t kSectionIndent = 4;
  std::string section;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t colon = lines[i].find(" : ");
    const std::string_view key = Trimmed(lines[i].substr(0, colon));
    if (indents[i] <= kSectionIndent) section = "";
    if (colon != std::string_view::npos) {
      fields.Add(section + std::string(key),
                 Trimmed(lines[i].substr(colon + 3)), i + 1);
    } else if (indents[i] == kSectionIndent) {
      section = std::string(key) + "/";
    }
  }
}

/// Rows of `--format=csv`, by the headers without units.
void ReadCsv(const std::vector<std::string_view>& lines, Fields& fields) {
  std::vector<std::string> headers;
  for (const std::string_view header : Split(lines.front(), ',')) {
    const bool is_name = header == "name" || header == "gpu_name";
    headers.emplace_back(is_name ? "Product Name"
                                 : Trimmed(header.substr(0, header.find('['))));
  }
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].empty()) continue;
    const std::vector<std::string_view> cells = Split(lines[i], ',');
    if (cells.size() != headers.size()) {
      fields.Fail(i + 1, fmt::format("has {} values, expected {} as in line 1",
                                     cells.size(), headers.size()));
    }
    for (std::size_t k = 0; k < cells.size(); ++k) {
      fields.Add(headers[k], cells[k], i + 1);
    }
  }
}

/// "ada" of "Ada Lovelace".
std::string ArchitectureOf(std::string_view stated) {
  return LowerCase(stated.substr(0, stated.find(' ')));
}

}  // namespace

SmiGpu ReadNvidiaSmi(std::string_view text, std::string_view origin) {
  std::vector<std::string_view> lines;
  std::vector<std::size_t> indents;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    indents.push_back(std::min(line.find_first_not_of(' '), line.size()));
    lines.push_back(Trimmed(line));
    at = end + 1;
  }
  Fields fields(origin);
  if (text.find("NVSMI LOG") != std::string_view::npos) {
    ReadQuery(lines, indents, fields);
  } else {
    ReadCsv(lines, fields);
  }
  SmiGpu gpu{.name = std::string(fields.Text({"Product Name"}))};
  if (gpu.name.empty()) {
    fields.Fail(1,
                fmt::format("'{}': expected the output of `nvidia-smi -q`, "
                            "or of `nvidia-smi --query-gpu=name,memory.total,"
                            "… --format=csv` with its headers",
                            lines.front().substr(0, 40)));
  }
  gpu.architecture = ArchitectureOf(fields.Text({"Product Architecture"}));
  const double capability = fields.Number<double>({"compute_cap"}, 100);
  gpu.compute_capability = static_cast<int>(capability * 10 + 0.5);
  gpu.memory_mib = fields.Number<std::int64_t>(
      {"FB Memory Usage/Total", "memory.total"}, kMostMib);
  gpu.reserved_mib = fields.Number<std::int64_t>(
      {"FB Memory Usage/Reserved", "memory.reserved"}, kMostMib);
  gpu.power_w = fields.Number<double>(
      {"GPU Power Readings/Default Power Limit",
       "Power Readings/Default Power Limit", "power.default_limit",
       "GPU Power Readings/Current Power Limit", "Power Readings/Power Limit",
       "power.limit", "enforced.power.limit"},
      kMostWatts);
  gpu.has_mig = !fields.Text({"MIG Mode/Current", "mig.mode.current"}).empty();
  return gpu;
}

}  // namespace foretell::device
