#include "frontends/sandboxed_messages.h"

#include <fmt/core.h>

#include <algorithm>
#include <concepts>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "foretell/error.h"
#include "foretell/graph_io.h"
#include "src/core/bytes.h"
#include "src/core/failure.h"

namespace foretell::sandboxed {
namespace {

/// Each item of any list has a length, a size or a type, in eight bytes.
constexpr std::size_t kLeastItemBytes = 8;
constexpr std::array kModes = {Mode::kInference, Mode::kTraining};
constexpr std::array<std::string_view, 3> kFormats = {"exported", "onnx",
                                                      "torchscript"};

[[noreturn]] void Refuse(const std::string& what) {
  throw Corrupt("the process that opened it gave {}", what);
}

/// Length of a list of at most `most` items, all of which the message has.
std::uint64_t TakeCount(ByteReader& reader, std::size_t most) {
  const auto count = reader.Number<std::uint64_t>();
  if (count > most) {
    Refuse(
        fmt::format("a list of {} items, at most {} are taken", count, most));
  }
  if (count > reader.left() / kLeastItemBytes) {
    Refuse(fmt::format("a list of {} items in {} bytes", count, reader.left()));
  }
  return count;
}

template <typename T>
concept IsNumber = std::is_arithmetic_v<T> || std::is_enum_v<T>;

template <typename T, typename Type>
concept Is = std::same_as<std::remove_const_t<T>, Type>;

/// Writes fields. Every type's fields are listed once, in Exchange(), which is
/// called with a Sender and with a Receiver.
class Sender : public ByteWriter {
 public:
  template <typename... Fields>
  void operator()(const Fields&... fields) {
    (Put(fields), ...);
  }
  void Size(std::int64_t size) { Number(size); }
  void Size(std::optional<std::int64_t> size) { Put(size); }
  template <typename T>
  void List(const std::vector<T>& items, std::size_t /*most*/) {
    Number(std::uint64_t{items.size()});
    for (const T& item : items) Put(item);
  }
  void Sizes(const std::vector<std::int64_t>& sizes) { List(sizes, kMostDims); }
  void Warnings(std::vector<std::string> warnings) {
    List(WithinLimits(std::move(warnings)), kMostWarnings);
  }
  template <typename Key, typename Value, typename Entry>
  void Map(const std::map<Key, Value>& items, std::size_t /*most*/,
           Entry entry) {
    Number(std::uint64_t{items.size()});
    for (const auto& [key, value] : items) entry(*this, key, value);
  }
  template <typename T, typename Print, typename Parse>
  void Printed(const T& value, Print print, Parse /*parse*/) {
    Text(print(value));
  }

 private:
  void Put(bool flag) { Number(std::uint8_t{flag}); }
  void Put(DType dtype) { Text(DTypeName(dtype)); }
  void Put(const std::string& text) { Text(text); }
  template <IsNumber T>
  void Put(T number) {
    Number(number);
  }
  template <typename T>
  void Put(const std::optional<T>& value) {
    Put(value.has_value());
    if (value) Put(*value);
  }
  template <typename T>
    requires(!IsNumber<T>)
  void Put(const T& value) {
    Exchange(*this, value);
  }
};

/// Reads what Sender wrote, and checks it.
class Receiver : public ByteReader {
 public:
  using ByteReader::ByteReader;

  template <typename... Fields>
  void operator()(Fields&... fields) {
    (Take(fields), ...);
  }
  void Size(std::int64_t& size) {
    Take(size);
    if (size < 0) Refuse(fmt::format("a size of {}", size));
  }
  void Size(std::optional<std::int64_t>& size) {
    if (Flag()) Size(size.emplace());
  }
  template <typename T>
  void List(std::vector<T>& items, std::size_t most) {
    items = std::vector<T>(TakeCount(*this, most));
    for (T& item : items) Take(item);
  }
  void Sizes(std::vector<std::int64_t>& sizes) {
    sizes.resize(TakeCount(*this, kMostDims));
    for (std::int64_t& size : sizes) Size(size);
  }
  void Warnings(std::vector<std::string>& warnings) {
    warnings.resize(TakeCount(*this, kMostWarnings));
    for (std::string& warning : warnings) {
      const std::string_view text = View();
      if (text.size() > kMostWarningBytes) {
        Refuse(fmt::format("a warning of {} bytes, at most {} are taken",
                           text.size(), kMostWarningBytes));
      }
      warning = text;
    }
  }
  template <typename Key, typename Value, typename Entry>
  void Map(std::map<Key, Value>& items, std::size_t most, Entry entry) {
    for (std::uint64_t left = TakeCount(*this, most); left > 0; --left) {
      Key key{};
      Value value{};
      entry(*this, key, value);
      items[std::move(key)] = std::move(value);
    }
  }
  /// An empty text leaves the value as it is.
  template <typename T, typename Print, typename Parse>
  void Printed(T& value, Print /*print*/, Parse parse) {
    const std::string_view text = View();
    if (!text.empty()) value = parse("a request", text);
  }
  bool Flag() { return Number<std::uint8_t>() != 0; }

 private:
  void Take(bool& flag) { flag = Flag(); }
  void Take(DType& dtype) {
    const std::optional<DType> parsed = ParseDType(View());
    if (!parsed) Refuse("an unknown element type");
    dtype = *parsed;
  }
  void Take(std::string& text) { text = View(); }
  template <IsNumber T>
  void Take(T& number) {
    number = Number<T>();
  }
  template <typename T>
  void Take(std::optional<T>& value) {
    if (Flag()) Take(value.emplace());
  }
  template <typename T>
  void Take(T& value) {
    Exchange(*this, value);
  }
};

void Exchange(auto& io, Is<InputDim> auto& dim) {
  io(dim.symbol);
  io.Size(dim.value);
  io.Size(dim.at_least);
  io.Size(dim.at_most);
}

void Exchange(auto& io, Is<std::vector<InputDim>> auto& dims) {
  io.List(dims, kMostDims);
}

void Exchange(auto& io, Is<InputSpec> auto& spec) {
  io(spec.name, spec.fill, spec.is_number, spec.is_optional, spec.dtype,
     spec.dims);
}

void Exchange(auto& io, Is<TensorType> auto& type) {
  io(type.dtype);
  io.Sizes(type.shape);
}

void Exchange(auto& io, Is<BoundInput> auto& input) {
  io(input.name, input.type, input.says_dtype, input.fill);
  io.List(input.values, kMostTensors);
  io.Map(input.from_example, kMostDims,
         [](auto& fields, auto& dim, auto& symbol) { fields(dim, symbol); });
}

/// What a request leaves to BindInputs.
void Exchange(auto& io, Is<InputRequest> auto& wanted) {
  io(wanted.batch);
  io.Map(wanted.values, kMostTensors,
         [](auto& fields, auto& input, auto& values) {
           fields(input);
           fields.List(values, kMostTensors);
         });
  io.Map(wanted.dims, kMostTensors,
         [](auto& fields, auto& dim, auto& size) { fields(dim, size); });
}

void Exchange(auto& io, Is<TraceOutput> auto& output) {
  io(output.name, output.type, output.on_host);
}

void Exchange(auto& io, Is<ParallelSpec> auto& spec) {
  io(spec.kind, spec.gpus, spec.replicas, spec.bucket_view, spec.blocks,
     spec.vocabulary, spec.float_shards, spec.reduce, spec.reentrant,
     spec.orig_params, spec.cpu_offload, spec.schedule, spec.stages_per_gpu,
     spec.micro_batches, spec.split, spec.data, spec.copies);
}

void Exchange(auto& io, Is<TrainingLoop> auto& loop) {
  io(loop.foreach, loop.fused, loop.set_to_none, loop.late_zero_grad,
     loop.optimizer_in_backward, loop.offload_optimizer,
     loop.offload_activations, loop.keep_result, loop.loss_in_function,
     loop.step_in_function, loop.accumulation, loop.trainable, loop.input_grad,
     loop.recompute, loop.kernels, loop.parallel);
  io.Printed(
      loop.lora, [](const LoraSpec& spec) { return ToString(spec); },
      &ParseLora);
  io.Printed(
      loop.quantize, [](const QuantizeSpec& spec) { return ToString(spec); },
      &ParseQuantize);
}

/// Field by field, so that equal options give equal bytes.
void Exchange(auto& io, Is<TraceOptions> auto& options) {
  io.Printed(options.run, &RunToJson, [](const char* origin, auto text) {
    return RunFromJson(text, origin);
  });
  io(options.chose_precision, options.device, options.seed, options.loop);
}

void Exchange(auto& io, Is<Request> auto& request) {
  io(request.name, request.options);
  io.List(request.inputs, kMostTensors);
}

void Exchange(auto& io, Is<Description> auto& description) {
  io(description.format);
  io.List(description.inputs, kMostTensors);
  io.Size(description.parameter_elements);
  io.Map(description.weight_elements, kMostTensors,
         [](auto& fields, auto& dtype, auto& count) {
           fields(dtype);
           fields.Size(count);
         });
  for (auto& texts : description.warnings) io.Warnings(texts);
}

/// All of a trace except for its graph and its inputs.
void Exchange(auto& io, Is<Trace> auto& trace) {
  io.List(trace.outputs, kMostTensors);
  io.Warnings(trace.warnings);
  io(trace.loss);
}

/// The GPUs of a pipeline, of which `graph` is one.
void PutStages(Sender& writer, const OperatorGraph& graph) {
  writer.Number(std::uint64_t{graph.pipeline().size()});
  writer.Number(std::uint64_t{graph.pipeline_gpu()});
  for (const PipelineGpu& one : graph.pipeline()) {
    writer.Text(PrintGraph(one.graph, {.with_timeline = true}));
    writer.Text(one.blocks);
    writer.Number(one.in_flight);
  }
}

OperatorGraph TakeStages(Receiver& reader, OperatorGraph graph,
                         const std::string& name, const ParseLimits& limits) {
  const std::size_t count = TakeCount(reader, kMostTensors);
  const auto shown = reader.Number<std::uint64_t>();
  if (count == 0) return graph;
  std::vector<PipelineGpu> gpus;
  for (std::size_t i = 0; i < count; ++i) {
    gpus.push_back({.graph = ParseWithin(limits, reader.View(), name),
                    .blocks = reader.Text(),
                    .in_flight = reader.Number<std::int64_t>()});
  }
  if (shown >= count) Refuse("a pipeline without the GPU that is shown");
  return graph.InPipeline(
      std::make_shared<const std::vector<PipelineGpu>>(std::move(gpus)), shown);
}

/// Calls `take` on the answer; anything missing is reported as its defect.
template <typename Take>
auto Unpack(std::string_view answer, const Take& take) {
  Receiver reader(answer);
  try {
    return take(reader);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInternal) throw;
    Refuse(error.what());
  }
}

}  // namespace

std::string PackDescription(const Program& program) {
  Description description{.format = std::string(program.format()),
                          .parameter_elements = program.parameter_elements(),
                          .weight_elements = program.weight_elements()};
  description.inputs.assign(program.inputs().begin(), program.inputs().end());
  for (std::size_t i = 0; i < kModes.size(); ++i) {
    description.warnings[i] = program.warnings(kModes[i]);
  }
  Sender sender;
  sender(description);
  return sender.Take();
}

Description UnpackDescription(std::string_view answer) {
  if (std::ssize(answer) > kMostDescriptionBytes) {
    Refuse(fmt::format("a description of {} bytes, at most {} are taken",
                       answer.size(), kMostDescriptionBytes));
  }
  return Unpack(answer, [](Receiver& receiver) {
    Description description;
    receiver(description);
    if (std::ranges::find(kFormats, description.format) == kFormats.end()) {
      Refuse("an unknown format");
    }
    return description;
  });
}

std::string PackRequest(const Request& request) {
  Sender sender;
  sender(/*is_bound=*/true, request);
  return sender.Take();
}

std::string PackExpected(const std::string& name, const StepRequest& trace) {
  Sender sender;
  sender(/*is_bound=*/false, Request{name, trace.inputs.inputs, trace.options},
         trace.inputs);
  return sender.Take();
}

Request UnpackRequest(std::string_view bytes,
                      std::span<const InputSpec> inputs) {
  Receiver receiver(bytes);
  const bool is_bound = receiver.Flag();
  Request request;
  receiver(request);
  if (is_bound) return request;
  InputRequest wanted;
  receiver(wanted);
  wanted.inputs = std::move(request.inputs);
  request.inputs = BindInputs(inputs, wanted, request.name);
  return request;
}

std::string PackTrace(const Trace& trace) {
  Sender sender;
  sender.Text(PrintGraph(trace.graph, {.with_timeline = true}));
  PutStages(sender, trace.graph);
  sender(trace);
  return sender.Take();
}

Trace UnpackTrace(std::string_view answer, const Request& request,
                  const ParseLimits& limits) {
  return Unpack(answer, [&](Receiver& receiver) {
    OperatorGraph graph = ParseWithin(limits, receiver.View(), request.name);
    Trace trace{
        .graph = TakeStages(receiver, std::move(graph), request.name, limits),
        .inputs = request.inputs};
    receiver(trace);
    const GraphInfo& info = trace.graph.info();
    const Run& run = request.options.run;
    // ONNX Runtime chooses the layout itself.
    const bool channels_last = run.runtime.runtime == Runtime::kOnnxRuntime
                                   ? run.runtime.nhwc
                                   : run.channels_last;
    if (info.name != request.name || info.mode != run.mode ||
        info.precision != UncastPrecision(run) ||
        info.autocast != AutocastType(run) || info.grad_mode != run.grad_mode ||
        info.channels_last != channels_last) {
      Refuse("the graph of another step");
    }
    return trace;
  });
}

}  // namespace foretell::sandboxed
