#include "frontends/torchscript/constants.h"

#include <torch/csrc/jit/serialization/unpickler.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "frontends/torchscript/pickle_check.h"
#include "src/core/failure.h"
#include "src/core/libtorch_message.h"
#include "src/core/numbers.h"

namespace foretell::torchscript {
namespace {

/// Records by the address of the memory that they were read into.
struct Record {
  std::string name;
  std::size_t size = 0;
};
using Records = std::map<const void*, Record>;

/// Hands out a string in pieces, as Unpickler requires.
class PickleReader {
 public:
  explicit PickleReader(std::string text) : text_(std::move(text)) {}

  std::size_t Read(char* to, std::size_t count) {
    const std::size_t length = std::min(count, text_.size() - position_);
    std::memcpy(to, text_.data() + position_, length);
    position_ += length;
    return length;
  }

 private:
  std::string text_;
  std::size_t position_ = 0;
};

c10::IValue Unpickle(caffe2::serialize::PyTorchStreamReader& reader,
                     std::string text, Records& records) {
  PickleReader pickle(std::move(text));
  torch::jit::Unpickler unpickler(
      [&](char* to, std::size_t count) { return pickle.Read(to, count); },
      /*type_resolver=*/nullptr, /*obj_loader=*/nullptr,
      [&](const std::string& name) {
        const std::string record = "constants/" + name;
        auto [memory, length] = reader.getRecord(record);
        records[memory.get()] = {record, length};
        return std::move(memory);
      },
      at::Device(at::kCPU));
  return unpickler.parse_ivalue();
}

void Check(const std::string& path, const at::Tensor& tensor,
           const Records& records) {
  if (!tensor.defined() || !tensor.has_storage()) return;
  const auto record = records.find(tensor.storage().data());
  if (record == records.end()) return;
  if (tensor.storage().nbytes() <= record->second.size) return;
  throw Corrupt("{}: {} has {}, its tensor needs {}", path, record->second.name,
                Counted(record->second.size, "byte"),
                tensor.storage().nbytes());
}

/// Checks the tensors in values, each value once: in a file containers may be
/// shared or contain themselves.
class ConstantCheck {
 public:
  ConstantCheck(const std::string& path, const Records& records)
      : path_(path), records_(records) {}

  void Visit(const c10::IValue& value) {
    const auto visit = [this](const c10::IValue& inner) { Visit(inner); };
    if (value.isTensor()) return Check(path_, value.toTensor(), records_);
    const bool has_parts =
        value.isTuple() || value.isList() || value.isGenericDict();
    if (!has_parts || !seen_.insert(value).second) return;
    if (value.isTuple()) {
      std::ranges::for_each(value.toTupleRef().elements(), visit);
    } else if (value.isList()) {
      std::ranges::for_each(value.toListRef(), visit);
    } else {
      for (const auto& entry : value.toGenericDict()) {
        Visit(entry.key());
        Visit(entry.value());
      }
    }
  }

 private:
  const std::string& path_;
  const Records& records_;
  c10::IValue::HashAliasedIValues seen_;
};

}  // namespace

void RefuseShortConstants(const std::string& path,
                          caffe2::serialize::PyTorchStreamReader& reader) {
  Records records;
  c10::IValue constants;
  const auto [data, size] = reader.getRecord("constants.pkl");
  std::string text(static_cast<const char*>(data.get()), size);
  RefuseBadPickle(path, "constants.pkl", text);
  try {
    constants = Unpickle(reader, std::move(text), records);
  } catch (const std::exception& error) {
    throw Unsupported("{}: constants cannot be checked: {}", path,
                      LibTorchMessage(error.what()));
  }
  ConstantCheck(path, records).Visit(constants);
}

}  // namespace foretell::torchscript
