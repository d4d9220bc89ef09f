#pragma once

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frontends/exported/call_operator.h"
#include "frontends/exported/graph.h"
#include "frontends/exported/initial_states.h"
#include "frontends/exported/switch_mode.h"

namespace foretell::exported {

/// Most operators and graphs that may run, including those on numbers and in
/// loops.
inline constexpr std::int64_t kMostCalls = 1'000'000;

/// An element type that takes the place of another where operators name it, as
/// NamedTypesScope says.
struct TypeChange {
  at::ScalarType from = at::kFloat;
  at::ScalarType to = at::kFloat;
};

/// Runs graphs node by node, through LibTorch's dispatcher. Values die after
/// the last node that reads them, or when no name of Python holds them.
class Interpreter {
 public:
  /// Makes tensors on `device`.
  Interpreter(c10::DeviceType device, ModeSwitch mode, InitialStates states,
              std::optional<TypeChange> types = std::nullopt)
      : device_(device),
        mode_(std::move(mode)),
        states_(std::move(states)),
        types_(types) {}

  /// Results of `graph`. Consumes `inputs`. Throws Error that names the
  /// operator, and what operators throw.
  std::vector<c10::IValue> Run(const Graph& graph,
                               std::vector<c10::IValue> inputs);

  c10::DeviceType device() const { return device_; }
  /// The node that runs; null between runs.
  const Node* current() const { return current_; }
  /// The node that threw; null if none did.
  const Node* failed() const { return failed_; }

 private:
  using Frame = std::vector<c10::IValue>;

  void Count();
  void RunNode(const Node& node, Frame& frame);
  std::vector<c10::IValue> Call(const Node& node, Frame& frame);
  std::vector<c10::IValue> CallPython(const Node& node, Frame& frame);
  std::vector<c10::IValue> CallTensors(const Node& node, Frame& frame);
  std::vector<c10::IValue> CallGraphs(const Node& node, Frame& frame);
  void ChangeType(NamedValues& values) const;

  c10::DeviceType device_;
  ModeSwitch mode_;
  InitialStates states_;
  std::optional<TypeChange> types_;
  const Node* current_ = nullptr;
  const Node* failed_ = nullptr;
  std::int64_t calls_ = 0;
};

}  // namespace foretell::exported
