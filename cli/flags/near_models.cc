#include "cli/flags/near_models.h"

#include <fmt/core.h>

#include <cctype>
#include <string_view>

#include "foretell/zoo.h"
#include "src/core/ignoring_case.h"

namespace foretell::cli {
namespace {

/// Letters and digits of the last part of a name, in lower case: "llama38b" of
/// "meta-llama/Llama-3-8B".
std::string KeyOf(std::string_view name) {
  std::string key = LowerCase(name.substr(name.rfind('/') + 1));
  std::erase_if(key, [](unsigned char c) { return std::isalnum(c) == 0; });
  return key;
}

/// The stock network that `name` is in other spelling, or else the longest one
/// that it begins with ("bert-base-uncased"); empty if there is none.
std::string StockNetworkLike(std::string_view name) {
  constexpr std::size_t kFewestLetters = 6;
  const std::string key = KeyOf(name);
  std::string found;
  for (const std::string& stock : zoo::Names()) {
    const std::string like = KeyOf(stock);
    const bool begins = like.size() >= kFewestLetters && key.starts_with(like);
    if ((key == like || begins) && like.size() > KeyOf(found).size()) {
      found = stock;
    }
  }
  return found;
}

/// Whether a file of this name would have a kind: "m.onnx", "net.py:Net".
bool HasEnding(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot != std::string_view::npos && dot + 1 < name.size() &&
         std::isalpha(static_cast<unsigned char>(name[dot + 1])) != 0;
}

bool IsOfTheHub(std::string_view name) {
  const std::size_t slash = name.find('/');
  return slash != std::string_view::npos && slash > 0 && name[0] != '.' &&
         slash + 1 < name.size() && slash == name.rfind('/');
}

}  // namespace

std::string NextStepFor(const std::string& name) {
  if (name.find("://") != std::string::npos) {
    return "URLs are not fetched: download the file first";
  }
  if (name.ends_with(".py") || name.find(".py:") != std::string::npos) {
    return "modules are opened in Python: "
           "foretell.predict('net.py:Net', inputs)";
  }
  if (HasEnding(name)) return "";
  const std::string stock = StockNetworkLike(name);
  if (!stock.empty()) {
    return fmt::format("{}{} is a stock network", zoo::kPrefix, stock);
  }
  if (!IsOfTheHub(name)) return "";
  return fmt::format(
      "download config.json of a Hugging Face Hub model and name its folder: "
      "hf download {} config.json",
      name);
}

}  // namespace foretell::cli
