#include "frontends/torchscript/pickle_nesting.h"

#include <algorithm>

namespace foretell::torchscript {

namespace {

constexpr std::uint32_t kLeaves = 3;

constexpr std::uint32_t IdOf(PickleLeaf leaf) {
  return static_cast<std::uint32_t>(leaf);
}

}  // namespace

PickleNesting::PickleNesting() : children_(kLeaves) {}

PickleNesting::Id PickleNesting::NewContainer() {
  children_.emplace_back();
  return static_cast<Id>(children_.size() - 1);
}

bool PickleNesting::PushLeaf(PickleLeaf leaf) {
  stack_.push_back(IdOf(leaf));
  return true;
}

bool PickleNesting::PushContainer() {
  stack_.push_back(NewContainer());
  return true;
}

bool PickleNesting::PushMark() {
  marks_.push_back(stack_.size());
  return true;
}

std::ptrdiff_t PickleNesting::TakeMark() {
  if (marks_.empty() || marks_.back() > stack_.size()) return -1;
  const std::size_t count = stack_.size() - marks_.back();
  marks_.pop_back();
  return static_cast<std::ptrdiff_t>(count);
}

bool PickleNesting::Wrap(std::size_t count) {
  if (stack_.size() < count) return false;
  const Id container = NewContainer();
  const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
  children_[container].assign(first, stack_.end());
  stack_.erase(first, stack_.end());
  stack_.push_back(container);
  return true;
}

bool PickleNesting::WrapToMark() {
  const std::ptrdiff_t count = TakeMark();
  return count >= 0 && Wrap(static_cast<std::size_t>(count));
}

bool PickleNesting::PutInside(std::size_t count) {
  if (stack_.size() <= count) return false;
  const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
  const Id container = *(first - 1);
  if (container >= kLeaves) {
    std::vector<Id>& children = children_[container];
    children.insert(children.end(), first, stack_.end());
  }
  stack_.erase(first, stack_.end());
  return true;
}

bool PickleNesting::PutInsideToMark() {
  const std::ptrdiff_t count = TakeMark();
  return count >= 0 && PutInside(static_cast<std::size_t>(count));
}

bool PickleNesting::Pop() {
  if (stack_.empty()) return false;
  stack_.pop_back();
  return true;
}

bool PickleNesting::Duplicate() {
  if (stack_.empty()) return false;
  stack_.push_back(stack_.back());
  return true;
}

bool PickleNesting::Store(std::uint64_t memo_number) {
  if (stack_.empty()) return false;
  if (memo_number >= memo_.size()) memo_.resize(memo_number + 1, 0);
  memo_[memo_number] = stack_.back();
  return true;
}

bool PickleNesting::Load(std::uint64_t memo_number) {
  if (memo_number >= memo_.size()) return false;
  stack_.push_back(memo_[memo_number]);
  return true;
}

bool PickleNesting::ParsesHardText() const {
  if (stack_.size() < 2) return false;
  const auto top = stack_.rbegin();
  return top[1] == IdOf(PickleLeaf::kTypeParser) &&
         std::ranges::find(children_[top[0]], IdOf(PickleLeaf::kHardText)) !=
             children_[top[0]].end();
}

int PickleNesting::Depth() const {
  // Containers whose parents are all done come next; those in a cycle never.
  std::vector<std::size_t> parents(children_.size(), 0);
  for (const std::vector<Id>& children : children_) {
    for (const Id child : children) ++parents[child];
  }
  std::vector<int> depth(children_.size(), 1);
  std::vector<Id> ready;
  for (Id id = kLeaves; id < children_.size(); ++id) {
    if (parents[id] == 0) ready.push_back(id);
  }
  int deepest = 0;
  std::size_t done = kLeaves;
  for (; !ready.empty(); ++done) {
    const Id id = ready.back();
    ready.pop_back();
    deepest = std::max(deepest, depth[id]);
    for (const Id child : children_[id]) {
      depth[child] = std::max(depth[child], depth[id] + 1);
      if (--parents[child] == 0 && child >= kLeaves) ready.push_back(child);
    }
  }
  return done == children_.size() ? deepest : -1;
}

}  // namespace foretell::torchscript
