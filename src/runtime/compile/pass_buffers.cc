#include "src/runtime/compile/pass_buffers.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>

#include "src/graph/index_of.h"
#include "src/graph/shared_storage.h"

namespace foretell::runtime {
namespace {

class BufferLister {
 public:
  BufferLister(const OperatorGraph& graph, const std::vector<Loop>& loops)
      : graph_(graph), loops_(loops) {}

  PassBuffers List(std::span<const KernelNodes> kernels) {
    result_.kernels.resize(kernels.size());
    for (int i = 0; i < std::ssize(kernels); ++i) AddMade(i, kernels);
    for (int i = 0; i < std::ssize(kernels); ++i) {
      for (const NodeId id : kernels[IndexOf(i)]) AddReads(i, id);
    }
    MarkResults();
    OrderUpdates(kernels);
    Link();
    return std::move(result_);
  }

 private:
  KernelBuffers& KernelOf(int kernel) {
    return result_.kernels[IndexOf(kernel)];
  }

  void AddMade(int kernel, std::span<const KernelNodes> kernels) {
    for (const NodeId id : kernels[IndexOf(kernel)]) {
      const Node& node = graph_.node(id);
      for (const ValueId output : node.outputs) {
        writer_[output] = kernel;
        if (LiesInOperand(graph_, node, output)) {
          ShareBuffer(node, output);
          continue;
        }
        AddResult(kernel, output);
      }
    }
  }

  /// Slices of one tensor are one buffer, allocated for the first.
  void AddResult(int kernel, ValueId output) {
    const StorageId storage = graph_.value(output).storage;
    const auto [slice, is_first] = made_in_.try_emplace(storage, output);
    if (!is_first) {
      index_of_[output] = index_of_.at(slice->second);
      return;
    }
    const int index = Add(output, false);
    Buffer& buffer = result_.buffers[IndexOf(index)];
    buffer.bytes = std::max(buffer.bytes, graph_.storage(storage).bytes);
    KernelOf(kernel).made.push_back(index);
    KernelOf(kernel).made_bytes += buffer.bytes;
  }

  /// What a kernel writes into a buffer of the pass is that buffer.
  void ShareBuffer(const Node& node, ValueId output) {
    const StorageId storage = graph_.value(output).storage;
    for (const ValueId input : node.inputs) {
      const auto index = index_of_.find(input);
      if (index == index_of_.end() || graph_.value(input).storage != storage) {
        continue;
      }
      index_of_[output] = index->second;
    }
  }

  int Add(ValueId value, bool is_kept) {
    const int index = static_cast<int>(result_.buffers.size());
    index_of_[value] = index;
    result_.buffers.push_back({.value = value,
                               .bytes = graph_.value(value).type.Bytes(),
                               .is_kept = is_kept});
    return index;
  }

  void AddReads(int kernel, NodeId id) {
    for (const LoopRead& read : loops_[IndexOf(id)].reads) {
      const auto writer = writer_.find(read.buffer);
      if (writer == writer_.end()) {
        if (!IsKept(read.buffer)) continue;
        if (!index_of_.contains(read.buffer)) Add(read.buffer, true);
      } else if (writer->second == kernel) {
        continue;
      } else {
        before_[kernel].insert(writer->second);
      }
      const auto index = index_of_.find(read.buffer);
      if (index != index_of_.end()) AddReader(index->second, kernel);
    }
  }

  void AddReader(int buffer, int kernel) {
    std::vector<int>& readers = result_.buffers[IndexOf(buffer)].readers;
    if (!readers.empty() && readers.back() == kernel) return;
    readers.push_back(kernel);
    KernelOf(kernel).read.push_back(buffer);
  }

  /// Made by an earlier pass.
  bool IsKept(ValueId id) const {
    const Value& value = graph_.value(id);
    return value.producer != kNone &&
           !IsSourceRole(graph_.storage(value.storage).role);
  }

  /// What the program returns, and what a node outside of the pass reads.
  void MarkResults() {
    for (const ValueId id : graph_.outputs()) MarkResult(id);
    for (NodeId id = 0; id < std::ssize(graph_.nodes()); ++id) {
      const Loop& loop = loops_[IndexOf(id)];
      if (loop.kind == LoopKind::kView || !loop.is_buffer) continue;
      const std::vector<ValueId>& outputs = graph_.node(id).outputs;
      if (!outputs.empty() && writer_.contains(outputs.front())) continue;
      for (const LoopRead& read : loop.reads) MarkResult(read.buffer);
    }
  }

  void MarkResult(ValueId id) {
    while (!index_of_.contains(id)) {
      const NodeId producer = graph_.value(id).producer;
      if (producer == kNone ||
          loops_[IndexOf(producer)].kind != LoopKind::kView) {
        return;
      }
      id = graph_.node(producer).inputs.front();
    }
    Buffer& buffer = result_.buffers[IndexOf(index_of_.at(id))];
    buffer.is_result |= !buffer.is_kept;
  }

  /// An update of a tensor comes after all that touched it before.
  void OrderUpdates(std::span<const KernelNodes> kernels) {
    std::map<StorageId, std::set<int>> touched;
    for (int i = 0; i < std::ssize(kernels); ++i) {
      for (const NodeId id : kernels[IndexOf(i)]) {
        for (const ValueId output : graph_.node(id).outputs) {
          const StorageId storage = graph_.value(output).storage;
          if (LiesInOperand(graph_, graph_.node(id), output)) {
            before_[i].insert(touched[storage].begin(), touched[storage].end());
          }
          touched[storage].insert(i);
        }
        for (const LoopRead& read : loops_[IndexOf(id)].reads) {
          touched[graph_.value(read.buffer).storage].insert(i);
        }
      }
    }
  }

  void Link() {
    for (auto& [kernel, before] : before_) {
      before.erase(kernel);
      KernelOf(kernel).before.assign(before.begin(), before.end());
      for (const int one : before) KernelOf(one).after.push_back(kernel);
    }
  }

  const OperatorGraph& graph_;
  const std::vector<Loop>& loops_;
  PassBuffers result_;
  std::map<ValueId, int> index_of_;       ///< Buffers.
  std::map<ValueId, int> writer_;         ///< Kernels.
  std::map<StorageId, ValueId> made_in_;  ///< The first result in each.
  std::map<int, std::set<int>> before_;
};

}  // namespace

PassBuffers BuffersOf(const OperatorGraph& graph,
                      const std::vector<Loop>& loops,
                      std::span<const KernelNodes> kernels) {
  return BufferLister(graph, loops).List(kernels);
}

}  // namespace foretell::runtime
