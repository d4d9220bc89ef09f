// Graphs and results that no file has.

#include <cstring>

#include "tests/sandbox/lies.h"

namespace foretell::lies {
namespace {

/// The honest graph's first line, which names the step that was asked for.
std::string FirstLineOf(const Lie& lie) {
  const std::string_view text = lie.body().substr(8);
  return std::string(text.substr(0, text.find('\n') + 1));
}

/// A trace whose graph goes on with `opening`, and `pattern` over and over.
void SendGraph(Lie& lie, const char* opening, std::string_view pattern,
               std::int64_t bytes) {
  const std::string head = FirstLineOf(lie) + opening;
  const std::int64_t size = std::ssize(head) + bytes;
  lie.Header(0, 8 + size + 16);
  lie.Number(size);
  lie.Raw(head);
  lie.Fill(pattern, bytes);
  lie.Number(0);
  lie.Number(0);
}

/// A trace whose graph has lines with numbers, so that no two names are one.
void SendNumberedGraph(Lie& lie, const char* before, const char* after,
                       std::int64_t bytes) {
  const std::string head = FirstLineOf(lie);
  const std::int64_t size = std::ssize(head) + bytes;
  lie.Header(0, 8 + size + 16);
  lie.Number(size);
  lie.Raw(head);
  std::string block;
  std::int64_t number = 0;
  for (std::int64_t left = bytes; left > 0;) {
    block.clear();
    while (block.size() < 65536) {
      block.append(before).append(std::to_string(number++)).append(after);
    }
    block.resize(std::min(block.size(), static_cast<std::size_t>(left)));
    lie.Raw(block);
    left -= std::ssize(block);
  }
  lie.Number(0);
  lie.Number(0);
}

void SendOutputs(Lie& lie, std::int64_t count) {
  std::int64_t graph = 0;
  std::memcpy(&graph, lie.body().data(), sizeof(graph));
  const std::string_view text =
      lie.body().substr(0, static_cast<std::size_t>(8 + graph));
  Body output = Body().Text("o\x1b[31m").Text("f32").Number(1);
  output.Number(INT64_MAX).Byte(0);
  lie.Header(0, std::ssize(text) + 8 + count * std::ssize(output.bytes()) + 8);
  lie.Raw(text);
  lie.Number(count);
  for (std::int64_t i = 0; i < count; ++i) lie.Raw(output.bytes());
  lie.Number(0);
}

constexpr Row kRows[] = {
    {"a graph of 20 MB of inputs", kTrace,
     [](Lie& lie) {
       SendNumberedGraph(lie, "%x", " = input f32[1]\n", 20 * kMega);
     }},
    {"a graph of 900 MB", kTrace,
     [](Lie& lie) {
       SendNumberedGraph(lie, "%x", " = input f32[1]\n", 900 * kMega);
     }},
    {"a graph of 20 MB of operators", kTrace,
     [](Lie& lie) {
       SendNumberedGraph(lie, "%x", " = relu(input f32[]) : f32[]\n",
                         20 * kMega);
     }},
    {"20 MB of comments", kTrace,
     [](Lie& lie) { SendGraph(lie, "", "# and so on\n", 20 * kMega); }},
    {"20 MB of empty lines", kTrace,
     [](Lie& lie) { SendGraph(lie, "", "\n", 20 * kMega); }},
    {"20 MB of operands", kTrace,
     [](Lie& lie) { SendGraph(lie, "cat(", "input f32[],\n", 20 * kMega); }},
    {"a list of 10 million numbers", kTrace,
     [](Lie& lie) { SendGraph(lie, "relu() {a=[", "1,", 20 * kMega); }},
    {"a type of 10 million dimensions", kTrace,
     [](Lie& lie) { SendGraph(lie, "%x = input f32[", "1,", 20 * kMega); }},
    {"20 MB in quotes", kTrace,
     [](Lie& lie) { SendGraph(lie, "%\"", "x", 20 * kMega); }},
    {"200,000 outputs", kTrace, [](Lie& l) { SendOutputs(l, 200'000); }},
    {"a million outputs", kTrace, [](Lie& l) { SendOutputs(l, 1'000'000); }},
};

}  // namespace

std::span<const Row> LiesOfTraces() { return kRows; }

}  // namespace foretell::lies
