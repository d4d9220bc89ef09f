#include "src/graph/block_paths.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace foretell {
namespace {

/// A name in a path, and where in the path it ends.
struct PathName {
  std::string_view text;
  std::size_t end = 0;
};

std::vector<PathName> NamesIn(std::string_view path) {
  std::vector<PathName> names;
  std::size_t begin = 0;
  while (begin < path.size()) {
    const std::size_t end =
        std::min(path.find_first_of("./", begin), path.size());
    if (end > begin) names.push_back({path.substr(begin, end - begin), end});
    begin = end + 1;
  }
  return names;
}

bool IsNumber(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return std::isdigit(static_cast<unsigned char>(c)) != 0;
  });
}

bool Matches(const PathName& wanted, const PathName& name) {
  return wanted.text == "*" || wanted.text == name.text;
}

}  // namespace

BlockOf BlocksOfPath(const std::string& pattern) {
  return [pattern](std::string_view scope) -> std::string {
    const std::vector<PathName> wanted = NamesIn(pattern);
    const std::vector<PathName> names = NamesIn(scope);
    if (wanted.empty() || names.size() < wanted.size() ||
        !std::equal(wanted.begin(), wanted.end(), names.begin(), &Matches)) {
      return "";
    }
    return std::string(scope.substr(0, names[wanted.size() - 1].end));
  };
}

BlockOf BlocksOfNumber(int level) {
  return [level](std::string_view scope) -> std::string {
    int numbers = 0;
    for (const PathName& name : NamesIn(scope)) {
      if (IsNumber(name.text) && numbers++ == level) {
        return std::string(scope.substr(0, name.end));
      }
    }
    return "";
  };
}

}  // namespace foretell
