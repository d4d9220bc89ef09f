#include "src/snapshot/memory_snapshot.h"

#include <fmt/core.h>

#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "src/core/failure.h"
#include "src/core/files.h"
#include "src/core/parse_json.h"
#include "src/core/plain_data.h"
#include "src/core/read_pickle.h"

namespace foretell::snapshot {
namespace {

using Kind = PlainValue::Kind;

/// A trace of a million entries with stacks in C++ has about 1 GB.
constexpr std::int64_t kMaxSnapshotBytes = std::int64_t{2} << 30;
/// Of blocks and entries, which a pickle may repeat at two bytes each.
constexpr std::size_t kMaxRecords = std::size_t{1} << 22;
/// A size beyond it is damage; sums of all records stay in int64.
constexpr std::int64_t kMaxSize = std::int64_t{1} << 40;

/// ".name" or nothing, and an index in that list.
struct Step {
  const char* name;
  std::size_t index;
};

const std::map<std::string_view, Action>& Actions() {
  static const std::map<std::string_view, Action> actions = {
      {"alloc", Action::kAllocate},
      {"free_requested", Action::kFreeRequested},
      {"free_completed", Action::kFreeCompleted},
      {"segment_alloc", Action::kSegmentTaken},
      {"segment_map", Action::kSegmentTaken},
      {"segment_free", Action::kSegmentGiven},
      {"segment_unmap", Action::kSegmentGiven},
      {"oom", Action::kOutOfMemory},
  };
  return actions;
}

BlockState StateOf(std::string_view state) {
  if (state == "active_allocated") return BlockState::kAllocated;
  return state == "inactive" ? BlockState::kFree : BlockState::kPending;
}

/// Wraps around where addresses are damaged.
std::int64_t After(const Block& block) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(block.address) +
                                   static_cast<std::uint64_t>(block.size));
}

class SnapshotReader {
 public:
  SnapshotReader(const PlainData& data, const std::string& origin)
      : data_(data), origin_(origin) {}

  MemorySnapshot Read() {
    const PlainValue& root = data_.Root();
    const bool is_list = root.kind == Kind::kList;
    ReadSegments(is_list ? root : List(root, "segments"));
    const PlainValue* const traces = data_.Find(root, "device_traces");
    if (traces != nullptr) ReadTraces(*traces);
    return std::move(result_);
  }

 private:
  [[noreturn]] void Refuse(const std::string& field,
                           const std::string& problem) const {
    std::string place;
    for (const Step& step : path_) {
      place += fmt::format("{}[{}]", step.name, step.index);
    }
    if (!place.empty()) place += ".";
    throw Corrupt("{}: {}{} {}", origin_, place, field, problem);
  }
  /// Before they are read.
  void CountRecords(const PlainValue& list) {
    records_ += list.items.size();
    if (records_ <= kMaxRecords) return;
    throw Unsupported("{}: has more than {} blocks and entries", origin_,
                      kMaxRecords);
  }

  const PlainValue& Field(const PlainValue& dict, const char* name, Kind kind,
                          const char* expected) const {
    const PlainValue* const value = data_.Find(dict, name);
    if (value == nullptr) {
      Refuse(name, fmt::format("is missing, expected {}", expected));
    }
    if (value->kind != kind) {
      Refuse(name, fmt::format("is of another kind, expected {}", expected));
    }
    return *value;
  }
  const PlainValue& List(const PlainValue& dict, const char* name) const {
    return Field(dict, name, Kind::kList, "a list");
  }
  std::int64_t Int(const PlainValue& dict, const char* name) const {
    return Field(dict, name, Kind::kInt, "a whole number").number;
  }
  std::int64_t Size(const PlainValue& dict, const char* name) const {
    const std::int64_t size = Int(dict, name);
    if (size < 0 || size > kMaxSize) {
      Refuse(name, fmt::format("is {}, expected 0 to {}", size, kMaxSize));
    }
    return size;
  }

  /// Calls `read` for each value of `list`, which messages call `name`.
  template <typename Read>
  void ForEach(const char* name, const PlainValue& list, const Read& read) {
    if (list.kind != Kind::kList) Refuse(name, "is not a list");
    path_.push_back({name, 0});
    for (const PlainId item : list.items) {
      read(data_.values[item]);
      ++path_.back().index;
    }
    path_.pop_back();
  }

  void ReadSegments(const PlainValue& segments) {
    CountRecords(segments);
    ForEach("segments", segments, [&](const PlainValue& value) {
      Segment segment{.address = Int(value, "address"),
                      .size = Size(value, "total_size")};
      if (const PlainValue* device = data_.Find(value, "device")) {
        segment.device = device->number;
      }
      std::int64_t address = segment.address;
      const PlainValue& blocks = List(value, "blocks");
      CountRecords(blocks);
      ForEach(".blocks", blocks, [&](const PlainValue& block) {
        segment.blocks.push_back(ReadBlock(block, address));
        address = After(segment.blocks.back());
      });
      result_.segments.push_back(std::move(segment));
    });
  }

  /// Blocks of PyTorch 2.0 have no address, and stacks in their history.
  Block ReadBlock(const PlainValue& value, std::int64_t address) {
    const PlainValue& state =
        Field(value, "state", Kind::kText, "a block's state");
    const bool has_address = data_.Find(value, "address") != nullptr;
    Block block{.address = has_address ? Int(value, "address") : address,
                .size = Size(value, "size"),
                .state = StateOf(state.text),
                .stack = StackOf(value)};
    const PlainValue* const history = data_.Find(value, "history");
    if (history != nullptr && history->kind == Kind::kList &&
        !history->items.empty()) {
      block.stack = StackOf(data_.values[history->items.front()]);
    }
    return block;
  }

  void ReadTraces(const PlainValue& traces) {
    CountRecords(traces);
    ForEach("device_traces", traces, [&](const PlainValue& trace) {
      CountRecords(trace);
      std::vector<TraceEntry>& entries = result_.traces.emplace_back();
      ForEach("", trace, [&](const PlainValue& value) {
        entries.push_back(ReadEntry(value));
      });
    });
  }

  TraceEntry ReadEntry(const PlainValue& value) {
    const PlainValue& name =
        Field(value, "action", Kind::kText, "an action's name");
    const auto found = Actions().find(name.text);
    if (found == Actions().end()) return {};
    TraceEntry entry{.action = found->second,
                     .size = Size(value, "size"),
                     .stack = StackOf(value)};
    const bool is_oom = entry.action == Action::kOutOfMemory;
    entry.address = is_oom ? Size(value, "device_free") : Int(value, "addr");
    return entry;
  }

  /// The same list is the same stack: allocations and blocks share them.
  StackId StackOf(const PlainValue& dict) {
    const PlainValue* const frames = data_.Find(dict, "frames");
    if (frames == nullptr || frames->kind != Kind::kList) return kNoStack;
    const auto [stack, is_new] = stacks_.try_emplace(
        frames, static_cast<StackId>(result_.stacks.size()));
    if (is_new) {
      Stack read;
      ForEach(".frames", *frames,
              [&](const PlainValue& frame) { read.push_back(FrameOf(frame)); });
      result_.stacks.push_back(std::move(read));
    }
    return stack->second;
  }

  std::uint32_t FrameOf(const PlainValue& frame) {
    const auto [found, is_new] = frames_.try_emplace(
        &frame, static_cast<std::uint32_t>(result_.frames.size()));
    if (is_new) {
      result_.frames.push_back({.file = TextOf(frame, "filename"),
                                .function = TextOf(frame, "name"),
                                .line = Int(frame, "line")});
    }
    return found->second;
  }

  std::uint32_t TextOf(const PlainValue& frame, const char* name) {
    const PlainValue& text = Field(frame, name, Kind::kText, "a text");
    const auto [found, is_new] = texts_.try_emplace(
        &text, static_cast<std::uint32_t>(result_.texts.size()));
    if (is_new) result_.texts.emplace_back(text.text);
    return found->second;
  }

  const PlainData& data_;
  const std::string& origin_;
  std::vector<Step> path_;
  std::unordered_map<const PlainValue*, StackId> stacks_;
  std::unordered_map<const PlainValue*, std::uint32_t> frames_;
  std::unordered_map<const PlainValue*, std::uint32_t> texts_;
  std::size_t records_ = 0;
  MemorySnapshot result_;
};

}  // namespace

bool IsSnapshotFile(const std::string& path) {
  constexpr std::size_t kBytes = 40;
  if (path.ends_with(".pickle") || path.ends_with(".pkl")) return true;
  std::string begin = FirstBytes(path, kBytes);
  if (BeginsLikePickle(begin)) return true;
  std::erase_if(begin, [](char c) { return c == ' ' || c == '\n'; });
  return begin.starts_with("{\"segments\":[");
}

MemorySnapshot ReadSnapshot(const std::string& path) {
  return ParseSnapshot(ReadFile(path, kMaxSnapshotBytes), path);
}

MemorySnapshot ParseSnapshot(std::string_view bytes,
                             const std::string& origin) {
  if (!bytes.starts_with('{')) {
    return SnapshotReader(ReadPickle(bytes, origin), origin).Read();
  }
  const nlohmann::json json =
      ParseJson(bytes, origin, {.values = kMaxPickleValues});
  return SnapshotReader(PlainDataOf(json), origin).Read();
}

}  // namespace foretell::snapshot
