// Each n-th block is torchtune's and torchtitan's `selective_ac_option: 2`
// (training/activations.py and distributed/activation_checkpoint.py: the block
// whose number, from 1, n divides). The operators of `save` are those that
// policies of create_selective_checkpoint_contexts name, as torchtitan's list
// `op` does.
#include "src/graph/recompute_spec.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "src/core/failure.h"
#include "src/core/parse_number.h"

namespace foretell {
namespace {

constexpr std::string_view kSaveKey = "save=";
constexpr std::string_view kReentrant = "reentrant";

bool IsProduct(const Node& node) {
  return node.kind == OpKind::kLinear || node.kind == OpKind::kMatmul;
}

bool AddsBias(const Node& node) { return node.inputs.size() > 2; }

/// Unfused attention is several operators, none of which is attention.
bool IsFusedAttention(const Node& node) {
  constexpr std::string_view kFused = "_scaled_dot_product_";
  return node.kind == OpKind::kAttention &&
         (node.calls.empty() ||
          std::ranges::any_of(node.calls, [&](const Node& call) {
            return call.target.starts_with(kFused);
          }));
}

/// A linear layer with a bias is aten::addmm, without one aten::mm.
struct KeptRow {
  std::string_view name;
  bool (*is_kept)(const Node& node);
};

constexpr KeptRow kKeptRows[] = {
    {"mm",
     [](const Node& node) {
       return IsProduct(node) && !AddsBias(node) && node.target != "bmm";
     }},
    {"addmm",
     [](const Node& node) {
       return IsProduct(node) && AddsBias(node) && node.target != "baddbmm";
     }},
    {"bmm",
     [](const Node& node) {
       return node.target == "bmm" || node.target == "baddbmm";
     }},
    {"sdpa", &IsFusedAttention},
    {"conv",
     [](const Node& node) { return node.kind == OpKind::kConvolution; }},
};

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

/// Takes "/2" off the end of `text`; 1 if it does not end so.
int TakeEvery(std::string_view& text) {
  const std::size_t slash = text.rfind('/');
  if (slash == std::string_view::npos) return 1;
  const std::optional<int> every = ParseNumber<int>(text.substr(slash + 1));
  if (!every || *every < 1) return 1;
  text = text.substr(0, slash);
  return *every;
}

KeptResults ParseKept(std::string_view word, std::string_view text) {
  const int every = TakeEvery(word);
  const auto* const row = std::ranges::find(kKeptRows, word, &KeptRow::name);
  if (row != std::end(kKeptRows)) {
    return {.is_kept = row->is_kept, .every = every};
  }
  throw InvalidArgument(
      "--recompute {}: save has '{}', expected mm, addmm, bmm, sdpa or conv, "
      "separated by |",
      text, word);
}

/// Of the blocks that `all` finds, each `every`-th.
BlockOf EachOf(BlockOf all, int every) {
  if (every == 1) return all;
  const auto numbers = std::make_shared<std::map<std::string, int>>();
  return [all = std::move(all), every,
          numbers](std::string_view scope) -> std::string {
    std::string block = all(scope);
    if (block.empty()) return block;
    const int next = static_cast<int>(numbers->size()) + 1;
    const int number = numbers->try_emplace(block, next).first->second;
    return number % every == 0 ? block : "";
  };
}

}  // namespace

RecomputeSpec ParseRecompute(std::string_view text) {
  RecomputeSpec spec;
  for (std::string_view word : Split(text, ',')) {
    if (word == kReentrant) {
      spec.reentrant = true;
    } else if (word.starts_with(kSaveKey)) {
      for (const std::string_view name :
           Split(word.substr(kSaveKey.size()), '|')) {
        spec.kept.push_back(ParseKept(name, text));
      }
    } else if (!word.empty()) {
      const int every = TakeEvery(word);
      spec.blocks.push_back({.path = std::string(word), .every = every});
    }
  }
  if (spec.reentrant && !spec.kept.empty()) {
    throw InvalidArgument(
        "--recompute {}: PyTorch keeps results of chosen operators only with "
        "use_reentrant=False",
        text);
  }
  if (!spec.blocks.empty()) return spec;
  throw InvalidArgument(
      "--recompute {}: names no blocks; expected a path, e.g. blocks.*, or "
      "auto",
      text);
}

BlockOf BlocksOf(const RecomputeSpec& spec, int level) {
  std::vector<BlockOf> all;
  for (const RecomputeSpec::Blocks& blocks : spec.blocks) {
    all.push_back(EachOf(blocks.path == kAutomaticBlocks
                             ? BlocksOfNumber(level)
                             : BlocksOfPath(blocks.path),
                         blocks.every));
  }
  return [all = std::move(all)](std::string_view scope) -> std::string {
    for (const BlockOf& one : all) {
      std::string block = one(scope);
      if (!block.empty()) return block;
    }
    return "";
  };
}

}  // namespace foretell
