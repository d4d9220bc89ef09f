#include "tests/fuzz/corpus.h"

#include <fmt/core.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "foretell/error.h"

namespace foretell::fuzz {
namespace {

/// The bytes that the characters of `text`, in UTF-8, stand for.
std::string BytesOf(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<unsigned char>(text[i]);
    const bool is_wide = first >= 0x80 && i + 1 < text.size();
    if (is_wide) ++i;
    const int rest = static_cast<unsigned char>(text[i]) & 0x3f;
    bytes.push_back(static_cast<char>(is_wide ? first << 6 | rest : first));
  }
  return bytes;
}

}  // namespace

std::vector<std::string> ReadCorpus(std::string_view name) {
  const std::string path =
      fmt::format("{}/tests/fuzz/corpus/{}.txt", FORETELL_SOURCE_DIR, name);
  std::ifstream file(path);
  std::vector<std::string> inputs;
  for (std::string line; std::getline(file, line);) {
    const nlohmann::json json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_string()) {
      throw Error(ErrorCode::kCorrupt,
                  fmt::format("{}: line {} is no JSON string", path,
                              inputs.size() + 1));
    }
    inputs.push_back(BytesOf(json.get<std::string>()));
  }
  return inputs;
}

}  // namespace foretell::fuzz
