#include "src/page/html_page.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "src/core/embedded_file.h"
#include "src/core/failure.h"
#include "src/core/json_text.h"
#include "src/core/name_table.h"
#include "src/core/printable.h"

namespace foretell {

/// The template, its style and its scripts, in the order in which they run.
std::span<const EmbeddedFile> PageFiles();

namespace {

constexpr NameTable<11> kViews = {"step",          "predictions", "batches",
                                  "packing",       "dataset",     "training",
                                  "learning_rate", "evaluation",  "comparison",
                                  "difference",    "devices"};

constexpr char kTemplate[] = "src/page/page.html";

std::string_view BytesOf(std::string_view path) {
  const auto files = PageFiles();
  const auto file = std::ranges::find(files, path, &EmbeddedFile::path);
  if (file == files.end()) {
    throw InternalFailure("{} is missing", path);
  }
  return file->bytes;
}

std::string FilesEnding(std::string_view suffix, std::string_view before,
                        std::string_view after) {
  std::string text;
  for (const EmbeddedFile& file : PageFiles()) {
    if (!file.path.ends_with(suffix)) continue;
    text.append(before).append(file.bytes).append(after);
  }
  return text;
}

/// `text` for HTML, made Printable first.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : Printable(text)) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

/// JSON that ends no <script>: "<" can only occur in its strings.
std::string ScriptData(const nlohmann::ordered_json& document) {
  std::string text;
  for (const char c : DumpJson(document, kOneLine)) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

/// What replaces `{{name}}` in the template.
struct Part {
  std::string_view name;
  std::string text;
};

/// Goes through the template once: what is put in is not looked at again.
std::string Filled(std::string_view pattern, std::span<const Part> parts) {
  std::string page;
  while (true) {
    const std::size_t open = pattern.find("{{");
    page.append(pattern.substr(0, open));
    if (open == std::string_view::npos) return page;
    const std::size_t close = pattern.find("}}", open);
    const std::string_view name = pattern.substr(open + 2, close - open - 2);
    const auto part = std::ranges::find(parts, name, &Part::name);
    if (close == std::string_view::npos || part == parts.end()) {
      throw InternalFailure("{}: nothing for '{}'", kTemplate, name);
    }
    page.append(part->text);
    pattern.remove_prefix(close + 2);
  }
}

}  // namespace

std::string HtmlPage(PageView view, std::string_view title,
                     const nlohmann::ordered_json& document) {
  const Part parts[] = {
      {"title", Escaped(title)},
      {"view", std::string(NameIn(kViews, view))},
      {"licences", FilesEnding("LICENSE", "\n", "")},
      {"style", FilesEnding(".css", "", "")},
      {"scripts",
       FilesEnding(".js", "<script nonce=\"foretell\">\n", "</script>\n")},
      {"data", ScriptData(document)}};
  return Filled(BytesOf(kTemplate), parts);
}

}  // namespace foretell
