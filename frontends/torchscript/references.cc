#include "frontends/torchscript/references.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "foretell/error.h"
#include "frontends/torchscript/tokens.h"

namespace foretell::torchscript {
namespace {

constexpr std::string_view kRoot = "__torch__";

/// code/__torch__/a/b.py becomes __torch__.a.b.
std::string ModuleOf(std::string record) {
  if (record.starts_with("code/")) record.erase(0, 5);
  if (record.ends_with(".py")) record.resize(record.size() - 3);
  std::replace(record.begin(), record.end(), '/', '.');
  return record;
}

class References {
 public:
  /// Finds the classes and functions of a text and what they name.
  void Add(const std::string& record, const std::string& text) {
    Tokens tokens(text);
    std::string_view line;
    std::size_t current = Define(record, ModuleOf(record));
    for (Token token = tokens.Next(); !token.text.empty();
         token = tokens.Next()) {
      const bool defines = !token.begins_line && !line.empty();
      if (token.begins_line) {
        const bool starts = token.indentation == 0 &&
                            (token.text == "class" || token.text == "def");
        line = starts ? token.text : std::string_view();
      } else if (defines) {
        line = {};
        current =
            Define(record, fmt::format("{}.{}", ModuleOf(record), token.text));
      }
      if (token.text.starts_with(kRoot)) {
        definitions_[current].needs.push_back(token.text);
      }
    }
  }

  /// Throws if a chain is too long. To be called after all calls of Add.
  void Check(const std::string& path) const {
    std::vector<std::size_t> users(definitions_.size(), 0);
    std::vector<std::vector<std::size_t>> needs(definitions_.size());
    for (std::size_t i = 0; i < definitions_.size(); ++i) {
      needs[i] = Resolve(path, i);
      for (const std::size_t needed : needs[i]) ++users[needed];
    }
    std::vector<int> depth(definitions_.size(), 1);
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < users.size(); ++i) {
      if (users[i] == 0) ready.push_back(i);
    }
    std::size_t done = 0;
    for (; !ready.empty(); ++done) {
      const std::size_t i = ready.back();
      ready.pop_back();
      if (depth[i] > kMaxReferences) {
        Refuse(path, i,
               fmt::format("is needed through more than {} others",
                           kMaxReferences));
      }
      for (const std::size_t needed : needs[i]) {
        depth[needed] = std::max(depth[needed], depth[i] + 1);
        if (--users[needed] == 0) ready.push_back(needed);
      }
    }
    for (std::size_t i = 0; i < users.size() && done < users.size(); ++i) {
      if (users[i] != 0) Refuse(path, i, "needs itself through others");
    }
  }

 private:
  struct Definition {
    std::string record;
    std::string name;
    std::vector<std::string_view> needs;
  };

  std::size_t Define(const std::string& record, const std::string& name) {
    by_name_.emplace(name, definitions_.size());
    definitions_.push_back({record, name, {}});
    return definitions_.size() - 1;
  }

  /// Other definitions that definition `i` names, each once.
  std::vector<std::size_t> Resolve(const std::string& path,
                                   std::size_t i) const {
    std::vector<std::size_t> needs;
    for (const std::string_view name : definitions_[i].needs) {
      const std::size_t needed = Find(path, i, std::string(name));
      if (needed != i) needs.push_back(needed);
    }
    std::sort(needs.begin(), needs.end());
    needs.erase(std::unique(needs.begin(), needs.end()), needs.end());
    return needs;
  }

  /// The definition that `name` is, or is inside of.
  std::size_t Find(const std::string& path, std::size_t i,
                   std::string name) const {
    const std::string whole = name;
    while (true) {
      const auto found = by_name_.find(name);
      // A record itself is not a definition: `__torch__` would match any name.
      if (found != by_name_.end() &&
          definitions_[found->second].name !=
              ModuleOf(definitions_[found->second].record)) {
        return found->second;
      }
      const std::size_t dot = name.rfind('.');
      if (dot == std::string::npos) break;
      name.resize(dot);
    }
    throw Error(ErrorCode::kCorrupt,
                fmt::format("{}: {}: '{}' is not defined", path,
                            definitions_[i].record, whole));
  }

  [[noreturn]] void Refuse(const std::string& path, std::size_t i,
                           const std::string& why) const {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{}: {}: '{}' {}", path, definitions_[i].record,
                            definitions_[i].name, why));
  }

  std::vector<Definition> definitions_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

}  // namespace

void RefuseLongReferences(
    const std::string& path,
    const std::vector<std::pair<std::string, std::string>>& code) {
  References references;
  for (const auto& [record, text] : code) {
    if (record.ends_with(".py")) references.Add(record, text);
  }
  references.Check(path);
}

}  // namespace foretell::torchscript
