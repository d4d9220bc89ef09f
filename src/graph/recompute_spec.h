#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "foretell/graph.h"
#include "src/graph/block_paths.h"

namespace foretell {

/// Stands for "the blocks that save most" as a path of `--recompute`.
inline constexpr std::string_view kAutomaticBlocks = "auto";

/// Results that blocks keep instead of computing them again.
struct KeptResults {
  bool (*is_kept)(const Node& node) = nullptr;
  int every = 1;  ///< 2: those of the first operator of each two in a block.
};

/// The value of `--recompute`.
struct RecomputeSpec {
  /// Paths as BlocksOfPath reads them, or kAutomaticBlocks.
  struct Blocks {
    std::string path;
    int every = 1;  ///< 2: only each second block of this path.
  };
  std::vector<Blocks> blocks;
  std::vector<KeptResults> kept;
  /// torch.utils.checkpoint(use_reentrant=True).
  bool reentrant = false;
};

/// Reads paths, each of which may end with "/2" for each second block, and
/// "save=mm/2|sdpa" and "reentrant", separated by commas. Throws
/// Error(kInvalidArgument) for an unknown operator of `save` and without paths.
RecomputeSpec ParseRecompute(std::string_view text);

/// The blocks of `spec`, with "auto" for modules whose path ends with its
/// number of order `level`. It counts blocks: use it for one graph, whose
/// operators it must see in their order.
BlockOf BlocksOf(const RecomputeSpec& spec, int level);

}  // namespace foretell
