#include "src/program/dimension_names.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "src/core/ignoring_case.h"

namespace foretell {
namespace {

constexpr std::array<std::string_view, 8> kBatchNames = {
    "b", "batch", "batch_dim", "batch_size", "batchsize", "bs", "n", "nbatch"};
constexpr std::array<std::string_view, 15> kLengthNames = {
    "context_length", "len",
    "length",         "max_seq_len",
    "num_tokens",     "seq",
    "seq_len",        "seqlen",
    "seq_length",     "sequence",
    "sequence_len",   "t",
    "time",           "sequence_length",
    "tokens"};

}  // namespace

bool NamesBatch(const std::string& symbol) {
  return std::ranges::count(kBatchNames, LowerCase(symbol)) != 0;
}

bool NamesLength(const std::string& symbol) {
  return std::ranges::count(kLengthNames, LowerCase(symbol)) != 0;
}

}  // namespace foretell
