// The instructions of protocols 2 to 5 that build data, by
// Lib/pickletools.py of CPython 3.13. Values stand in a table and refer to each
// other by number, so that a value that is used a thousand times, or inside
// itself, costs no more than its references.

#include "src/core/read_pickle.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <utility>

#include "foretell/error.h"
#include "src/core/pickle_cursor.h"
#include "src/core/shortened.h"

namespace foretell {
namespace {

using Kind = PlainValue::Kind;

constexpr unsigned char kProto = 0x80;
constexpr unsigned char kStop = '.';
constexpr std::uint64_t kOldestProtocol = 2;
constexpr std::uint64_t kNewestProtocol = 5;
/// None, Booleans and all else that is not kept.
constexpr PlainId kOtherId = 0;

/// Instructions that make something other than data.
struct RefusedRow {
  unsigned char code;
  const char* name;
};

constexpr auto kRefusedCodes = std::to_array<RefusedRow>({
    {'c', "GLOBAL"},
    {0x93, "STACK_GLOBAL"},
    {'R', "REDUCE"},
    {'b', "BUILD"},
    {'i', "INST"},
    {'o', "OBJ"},
    {0x81, "NEWOBJ"},
    {0x92, "NEWOBJ_EX"},
    {0x82, "EXT1"},
    {0x83, "EXT2"},
    {0x84, "EXT4"},
    {'P', "PERSID"},
    {'Q', "BINPERSID"},
    {0x8f, "EMPTY_SET"},
    {0x91, "FROZENSET"},
    {0x97, "NEXT_BUFFER"},
});

class PickleReader {
 public:
  PickleReader(std::string_view bytes, const std::string& origin)
      : cursor_(origin, bytes) {
    data_.values.emplace_back();  // kOtherId
  }

  PlainData Read() {
    if (cursor_.Number(1) != kProto) {
      cursor_.Refuse("is not a pickle of protocol 2 to 5",
                     ErrorCode::kUnsupported);
    }
    RequireProtocol(1);
    while (true) {
      const auto code = static_cast<unsigned char>(cursor_.Number(1));
      if (code == kStop) break;
      Run(code);
    }
    data_.root = Pop();
    return std::move(data_);
  }

 private:
  struct Row {
    unsigned char code;
    void (PickleReader::*run)(std::uint64_t width);
    std::uint64_t width = 0;  ///< Bytes of the number that follows; of a
                              ///< tuple, its values.
  };
  static const Row kRows[];

  void Run(unsigned char code);

  [[noreturn]] void RefuseCode(unsigned char code) {
    const auto* const row =
        std::ranges::find(kRefusedCodes, code, &RefusedRow::code);
    if (row == kRefusedCodes.end()) {
      cursor_.Refuse(fmt::format("instruction {} is unknown", code));
    }
    std::string what = row->name;
    if (code == 'c') {
      constexpr std::size_t kMostShown = 100;
      const std::string module(cursor_.TakeLine());
      what += fmt::format(" of '{}'", Shortened(fmt::format("{}.{}", module,
                                                            cursor_.TakeLine()),
                                                kMostShown));
    }
    cursor_.Refuse(fmt::format("{}, expected data alone", what),
                   ErrorCode::kUnsupported);
  }

  void RequireProtocol(std::uint64_t width) {
    const std::uint64_t protocol = cursor_.Number(width);
    if (protocol >= kOldestProtocol && protocol <= kNewestProtocol) return;
    cursor_.Refuse(fmt::format("protocol {}, expected {} to {}", protocol,
                               kOldestProtocol, kNewestProtocol),
                   ErrorCode::kUnsupported);
  }

  void Skip(std::uint64_t width) { cursor_.Take(width); }

  /// @name Values
  /// @{
  void Push(PlainValue value) {
    if (data_.values.size() >= kMaxPickleValues) {
      cursor_.Refuse(
          fmt::format("more than {} values, the limit", kMaxPickleValues),
          ErrorCode::kUnsupported);
    }
    stack_.push_back(static_cast<PlainId>(data_.values.size()));
    data_.values.push_back(std::move(value));
  }
  void PushOther(std::uint64_t width) {
    cursor_.Take(width);
    stack_.push_back(kOtherId);
  }
  void PushBytes(std::uint64_t width) { PushOther(cursor_.Number(width)); }
  void PushUnsigned(std::uint64_t width) {
    Push({.kind = Kind::kInt,
          .number = static_cast<std::int64_t>(cursor_.Number(width))});
  }
  void PushSigned(std::uint64_t width) {
    Push({.kind = Kind::kInt, .number = SignedNumber(width)});
  }
  /// Of an address beyond 2^63 the ninth byte is zero.
  void PushLong(std::uint64_t width) {
    constexpr std::uint64_t kBytes = 8;
    const std::uint64_t size = cursor_.Number(width);
    if (size > kBytes + 1) {
      cursor_.Refuse(fmt::format("a number of {} bytes, expected at most {}",
                                 size, kBytes + 1),
                     ErrorCode::kUnsupported);
    }
    const std::int64_t number = SignedNumber(std::min(size, kBytes));
    if (size > kBytes) cursor_.Take(1);
    Push({.kind = Kind::kInt, .number = number});
  }
  std::int64_t SignedNumber(std::uint64_t width) {
    constexpr std::uint64_t kBits = 64;
    if (width == 0) return 0;
    const std::uint64_t above = kBits - 8 * width;
    return static_cast<std::int64_t>(cursor_.Number(width) << above) >>
           static_cast<std::int64_t>(above);
  }
  void PushText(std::uint64_t width) {
    const std::string_view text = cursor_.Take(cursor_.Number(width));
    Push({.kind = Kind::kText, .text = text});
  }
  void PushList(std::uint64_t /*width*/) { Push({.kind = Kind::kList}); }
  void PushDict(std::uint64_t /*width*/) { Push({.kind = Kind::kDict}); }
  void PushListToMark(std::uint64_t /*width*/) {
    std::vector<PlainId> items = PopToMark();
    Push({.kind = Kind::kList, .items = std::move(items)});
  }
  void PushDictToMark(std::uint64_t /*width*/) {
    std::vector<PlainId> items = PopToMark();
    Push({.kind = Kind::kDict});
    AddItems(items, Kind::kDict);
  }
  void PushTuple(std::uint64_t size) {
    std::vector<PlainId> items(size);
    for (auto item = items.rbegin(); item != items.rend(); ++item) {
      *item = Pop();
    }
    Push({.kind = Kind::kList, .items = std::move(items)});
  }
  /// @}

  /// @name The stack
  /// @{
  std::size_t Floor() const { return marks_.empty() ? 0 : marks_.back(); }
  PlainId Top() const {
    if (stack_.size() <= Floor()) cursor_.Refuse("takes a value, none is left");
    return stack_.back();
  }
  PlainId Pop() {
    const PlainId top = Top();
    stack_.pop_back();
    return top;
  }
  std::vector<PlainId> PopToMark() {
    if (marks_.empty()) cursor_.Refuse("takes values to a mark, none is left");
    const auto begin =
        stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PlainId> items(begin, stack_.end());
    stack_.erase(begin, stack_.end());
    marks_.pop_back();
    return items;
  }
  void PushMark(std::uint64_t /*width*/) { marks_.push_back(stack_.size()); }
  void Drop(std::uint64_t /*width*/) {
    const bool is_mark = !marks_.empty() && marks_.back() == stack_.size();
    if (is_mark) {
      marks_.pop_back();
    } else {
      Pop();
    }
  }
  void DropToMark(std::uint64_t /*width*/) { PopToMark(); }
  void Repeat(std::uint64_t /*width*/) { stack_.push_back(Top()); }
  /// @}

  /// @name Containers and the memo
  /// @{
  void AddItems(const std::vector<PlainId>& items, Kind kind) {
    PlainValue& container = data_.values[Top()];
    if (container.kind != kind || (kind == Kind::kDict && items.size() % 2)) {
      cursor_.Refuse("adds items to another kind of value");
    }
    container.items.insert(container.items.end(), items.begin(), items.end());
  }
  void Append(std::uint64_t /*width*/) { AddItems({Pop()}, Kind::kList); }
  void AppendToMark(std::uint64_t /*width*/) {
    AddItems(PopToMark(), Kind::kList);
  }
  void SetItem(std::uint64_t /*width*/) {
    const PlainId value = Pop();
    AddItems({Pop(), value}, Kind::kDict);
  }
  void SetItemsToMark(std::uint64_t /*width*/) {
    AddItems(PopToMark(), Kind::kDict);
  }
  /// Writers number the memo one by one: nothing is kept for a number far away.
  void Put(std::uint64_t width) {
    const std::uint64_t number =
        width == 0 ? memo_.size() : cursor_.Number(width);
    if (number > memo_.size()) {
      cursor_.Refuse(fmt::format("memo number {}, expected at most {}", number,
                                 memo_.size()));
    }
    if (number == memo_.size()) memo_.emplace_back();
    memo_[static_cast<std::size_t>(number)] = Top();
  }
  void Get(std::uint64_t width) {
    const std::uint64_t number = cursor_.Number(width);
    if (number >= memo_.size()) {
      cursor_.Refuse(fmt::format("memo number {}, expected less than {}",
                                 number, memo_.size()));
    }
    stack_.push_back(memo_[static_cast<std::size_t>(number)]);
  }
  /// @}

  PickleCursor cursor_;
  PlainData data_;
  std::vector<PlainId> stack_;
  std::vector<std::size_t> marks_;  ///< Sizes of the stack.
  std::vector<PlainId> memo_;
};

// What snapshots have most of comes first.
const PickleReader::Row PickleReader::kRows[] = {
    {'h', &PickleReader::Get, 1},
    {'j', &PickleReader::Get, 4},
    {0x94, &PickleReader::Put, 0},  // The next number of the memo.
    {'K', &PickleReader::PushUnsigned, 1},
    {'M', &PickleReader::PushUnsigned, 2},
    {'J', &PickleReader::PushSigned, 4},
    {0x8a, &PickleReader::PushLong, 1},
    {kProto, &PickleReader::RequireProtocol, 1},
    {0x95, &PickleReader::Skip, 8},  // FRAME
    {'(', &PickleReader::PushMark},
    {'0', &PickleReader::Drop},
    {'1', &PickleReader::DropToMark},
    {'2', &PickleReader::Repeat},
    {'N', &PickleReader::PushOther},
    {0x88, &PickleReader::PushOther},  // True
    {0x89, &PickleReader::PushOther},  // False
    {'G', &PickleReader::PushOther, 8},
    {'X', &PickleReader::PushText, 4},
    {0x8c, &PickleReader::PushText, 1},
    {0x8d, &PickleReader::PushText, 8},
    {'U', &PickleReader::PushText, 1},
    {'T', &PickleReader::PushText, 4},
    {'B', &PickleReader::PushBytes, 4},
    {'C', &PickleReader::PushBytes, 1},
    {0x8e, &PickleReader::PushBytes, 8},
    {0x96, &PickleReader::PushBytes, 8},
    {']', &PickleReader::PushList},
    {'l', &PickleReader::PushListToMark},
    {')', &PickleReader::PushList},  // A tuple.
    {'t', &PickleReader::PushListToMark},
    {0x85, &PickleReader::PushTuple, 1},
    {0x86, &PickleReader::PushTuple, 2},
    {0x87, &PickleReader::PushTuple, 3},
    {'}', &PickleReader::PushDict},
    {'d', &PickleReader::PushDictToMark},
    {'a', &PickleReader::Append},
    {'e', &PickleReader::AppendToMark},
    {'s', &PickleReader::SetItem},
    {'u', &PickleReader::SetItemsToMark},
    {'q', &PickleReader::Put, 1},
    {'r', &PickleReader::Put, 4},
};

void PickleReader::Run(unsigned char code) {
  const Row* const row = std::ranges::find(kRows, code, &Row::code);
  if (row == std::end(kRows)) RefuseCode(code);
  (this->*row->run)(row->width);
}

}  // namespace

bool BeginsLikePickle(std::string_view bytes) {
  if (bytes.size() < 2 || static_cast<unsigned char>(bytes[0]) != kProto) {
    return false;
  }
  const auto protocol = static_cast<unsigned char>(bytes[1]);
  return protocol >= kOldestProtocol && protocol <= kNewestProtocol;
}

PlainData ReadPickle(std::string_view bytes, const std::string& origin) {
  return PickleReader(bytes, origin).Read();
}

}  // namespace foretell
