#include "frontends/sandboxed_messages.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <optional>
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

bool TakeFlag(ByteReader& reader) { return reader.Number<std::uint8_t>() != 0; }

std::int64_t TakeSize(ByteReader& reader) {
  const auto size = reader.Number<std::int64_t>();
  if (size < 0) Refuse(fmt::format("a size of {}", size));
  return size;
}

void PutType(ByteWriter& writer, DType dtype) { writer.Text(DTypeName(dtype)); }

DType TakeType(ByteReader& reader) {
  const std::optional<DType> dtype = ParseDType(reader.Text());
  if (!dtype) Refuse("an unknown element type");
  return *dtype;
}

void PutWarnings(ByteWriter& writer, std::vector<std::string> warnings) {
  warnings = WithinLimits(std::move(warnings));
  writer.Number(std::uint64_t{warnings.size()});
  for (const std::string& warning : warnings) writer.Text(warning);
}

std::vector<std::string> TakeWarnings(ByteReader& reader) {
  std::vector<std::string> warnings(TakeCount(reader, kMostWarnings));
  for (std::string& warning : warnings) {
    const std::string_view text = reader.View();
    if (text.size() > kMostWarningBytes) {
      Refuse(fmt::format("a warning of {} bytes, at most {} are taken",
                         text.size(), kMostWarningBytes));
    }
    warning = text;
  }
  return warnings;
}

void PutSizeIfAny(ByteWriter& writer, std::optional<std::int64_t> size) {
  writer.Number(std::uint8_t{size.has_value()});
  writer.Number(size.value_or(0));
}

std::optional<std::int64_t> TakeSizeIfAny(ByteReader& reader) {
  const bool has_size = TakeFlag(reader);
  const std::int64_t size = TakeSize(reader);
  return has_size ? std::optional(size) : std::nullopt;
}

void PutDim(ByteWriter& writer, const InputDim& dim) {
  writer.Text(dim.symbol);
  PutSizeIfAny(writer, dim.value);
  PutSizeIfAny(writer, dim.at_least);
  PutSizeIfAny(writer, dim.at_most);
}

InputDim TakeDim(ByteReader& reader) {
  InputDim dim{.value = std::nullopt, .symbol = reader.Text()};
  dim.value = TakeSizeIfAny(reader);
  dim.at_least = TakeSizeIfAny(reader);
  dim.at_most = TakeSizeIfAny(reader);
  return dim;
}

void PutSpec(ByteWriter& writer, const InputSpec& spec) {
  writer.Text(spec.name);
  writer.Number(spec.fill);
  writer.Number(std::uint8_t{spec.is_number});
  writer.Number(std::uint8_t{spec.is_optional});
  writer.Number(std::uint8_t{spec.dtype.has_value()});
  if (spec.dtype) PutType(writer, *spec.dtype);
  writer.Number(std::uint8_t{spec.dims.has_value()});
  if (!spec.dims) return;
  writer.Number(std::uint64_t{spec.dims->size()});
  for (const InputDim& dim : *spec.dims) PutDim(writer, dim);
}

InputSpec TakeSpec(ByteReader& reader) {
  InputSpec spec{.name = reader.Text(), .dtype = {}, .dims = {}};
  spec.fill = reader.Number<std::int64_t>();
  spec.is_number = TakeFlag(reader);
  spec.is_optional = TakeFlag(reader);
  if (TakeFlag(reader)) spec.dtype = TakeType(reader);
  if (!TakeFlag(reader)) return spec;
  spec.dims.emplace(TakeCount(reader, kMostDims));
  for (InputDim& dim : *spec.dims) dim = TakeDim(reader);
  return spec;
}

void PutTensorType(ByteWriter& writer, const TensorType& type) {
  PutType(writer, type.dtype);
  writer.Number(std::uint64_t{type.shape.size()});
  for (const std::int64_t size : type.shape) writer.Number(size);
}

TensorType TakeTensorType(ByteReader& reader) {
  TensorType type{.dtype = TakeType(reader), .shape = {}};
  type.shape.resize(TakeCount(reader, kMostDims));
  for (std::int64_t& size : type.shape) size = TakeSize(reader);
  return type;
}

void PutNumbers(ByteWriter& writer, const std::vector<std::int64_t>& numbers) {
  writer.Number(std::uint64_t{numbers.size()});
  for (const std::int64_t number : numbers) writer.Number(number);
}

std::vector<std::int64_t> TakeNumbers(ByteReader& reader) {
  std::vector<std::int64_t> numbers(TakeCount(reader, kMostTensors));
  for (std::int64_t& number : numbers) number = reader.Number<std::int64_t>();
  return numbers;
}

void PutInputs(ByteWriter& writer, const std::vector<BoundInput>& inputs) {
  writer.Number(std::uint64_t{inputs.size()});
  for (const BoundInput& input : inputs) {
    writer.Text(input.name);
    PutTensorType(writer, input.type);
    writer.Number(std::uint8_t{input.says_dtype});
    PutNumbers(writer, input.values);
    writer.Number(input.fill);
    writer.Number(std::uint64_t{input.from_example.size()});
    for (const auto& [dim, symbol] : input.from_example) {
      writer.Number(std::uint64_t{dim});
      writer.Text(symbol);
    }
  }
}

std::vector<BoundInput> TakeInputs(ByteReader& reader) {
  std::vector<BoundInput> inputs(TakeCount(reader, kMostTensors));
  for (BoundInput& input : inputs) {
    input.name = reader.Text();
    input.type = TakeTensorType(reader);
    input.says_dtype = reader.Number<std::uint8_t>() != 0;
    input.values = TakeNumbers(reader);
    input.fill = reader.Number<std::int64_t>();
    for (std::uint64_t left = TakeCount(reader, kMostDims); left > 0; --left) {
      const auto dim = reader.Number<std::uint64_t>();
      input.from_example[dim] = reader.Text();
    }
  }
  return inputs;
}

void PutOutputs(ByteWriter& writer, const std::vector<TraceOutput>& outputs) {
  writer.Number(std::uint64_t{outputs.size()});
  for (const TraceOutput& output : outputs) {
    writer.Text(output.name);
    PutTensorType(writer, output.type);
    writer.Number(std::uint8_t{output.on_host});
  }
}

std::vector<TraceOutput> TakeOutputs(ByteReader& reader) {
  std::vector<TraceOutput> outputs(TakeCount(reader, kMostTensors));
  for (TraceOutput& output : outputs) {
    output.name = reader.Text();
    output.type = TakeTensorType(reader);
    output.on_host = TakeFlag(reader);
  }
  return outputs;
}

template <typename T>
void PutOptional(ByteWriter& writer, const std::optional<T>& value) {
  writer.Number(std::uint8_t{value.has_value()});
  writer.Number(value.value_or(T{}));
}

template <typename T>
std::optional<T> TakeOptional(ByteReader& reader) {
  const bool has_value = TakeFlag(reader);
  const T value = reader.Number<T>();
  return has_value ? std::optional(value) : std::nullopt;
}

void PutParallel(ByteWriter& writer, const ParallelSpec& spec) {
  writer.Number(spec.kind);
  writer.Number(spec.gpus);
  writer.Number(spec.replicas);
  writer.Number(spec.bucket_view);
  writer.Text(spec.blocks);
  writer.Number(spec.vocabulary);
  writer.Number(spec.float_shards);
  PutOptional(writer, spec.reduce);
  writer.Number(spec.reentrant);
  writer.Number(spec.orig_params);
  writer.Number(spec.schedule);
  writer.Number(spec.stages_per_gpu);
  writer.Number(spec.micro_batches);
  writer.Text(spec.split);
  writer.Number(spec.data);
  writer.Number(spec.copies);
}

ParallelSpec TakeParallel(ByteReader& reader) {
  ParallelSpec spec;
  spec.kind = reader.Number<ParallelKind>();
  spec.gpus = reader.Number<int>();
  spec.replicas = reader.Number<int>();
  spec.bucket_view = reader.Number<bool>();
  spec.blocks = reader.Text();
  spec.vocabulary = reader.Number<bool>();
  spec.float_shards = reader.Number<bool>();
  spec.reduce = TakeOptional<Precision>(reader);
  spec.reentrant = reader.Number<bool>();
  spec.orig_params = reader.Number<bool>();
  spec.schedule = reader.Number<PipelineSchedule>();
  spec.stages_per_gpu = reader.Number<int>();
  spec.micro_batches = reader.Number<int>();
  spec.split = reader.Text();
  spec.data = reader.Number<ParallelKind>();
  spec.copies = reader.Number<int>();
  return spec;
}

/// Field by field, so that equal options give equal bytes.
void PutOptions(ByteWriter& writer, const TraceOptions& options) {
  writer.Text(RunToJson(options.run));
  writer.Number(options.chose_precision);
  writer.Number(options.device);
  writer.Number(options.seed);
  PutOptional(writer, options.loop.foreach);
  writer.Number(options.loop.fused);
  PutOptional(writer, options.loop.set_to_none);
  writer.Number(options.loop.late_zero_grad);
  writer.Number(options.loop.optimizer_in_backward);
  writer.Text(options.loop.offload_optimizer);
  writer.Number(options.loop.offload_activations);
  writer.Number(options.loop.keep_result);
  writer.Number(options.loop.loss_in_function);
  writer.Number(options.loop.step_in_function);
  writer.Number(options.loop.accumulation);
  writer.Text(options.loop.trainable);
  writer.Text(ToString(options.loop.lora));
  writer.Number(options.loop.input_grad);
  writer.Text(ToString(options.loop.quantize));
  writer.Text(options.loop.recompute);
  writer.Text(options.loop.kernels);
  PutParallel(writer, options.loop.parallel);
}

TraceOptions TakeOptions(ByteReader& reader) {
  TraceOptions options;
  options.run = RunFromJson(reader.Text(), "a request");
  options.chose_precision = reader.Number<bool>();
  options.device = reader.Number<TraceDevice>();
  options.seed = reader.Number<std::uint64_t>();
  options.loop.foreach = TakeOptional<bool>(reader);
  options.loop.fused = reader.Number<bool>();
  options.loop.set_to_none = TakeOptional<bool>(reader);
  options.loop.late_zero_grad = reader.Number<bool>();
  options.loop.optimizer_in_backward = reader.Number<bool>();
  options.loop.offload_optimizer = reader.Text();
  options.loop.offload_activations = reader.Number<bool>();
  options.loop.keep_result = reader.Number<bool>();
  options.loop.loss_in_function = reader.Number<bool>();
  options.loop.step_in_function = reader.Number<bool>();
  options.loop.accumulation = reader.Number<int>();
  options.loop.trainable = reader.Text();
  const std::string lora = reader.Text();
  if (!lora.empty()) options.loop.lora = ParseLora("a request", lora);
  options.loop.input_grad = reader.Number<bool>();
  if (const std::string text = reader.Text(); !text.empty()) {
    options.loop.quantize = ParseQuantize("a request", text);
  }
  options.loop.recompute = reader.Text();
  options.loop.kernels = reader.Text();
  options.loop.parallel = TakeParallel(reader);
  return options;
}

/// The GPUs of a pipeline, of which `graph` is one.
void PutStages(ByteWriter& writer, const OperatorGraph& graph) {
  writer.Number(std::uint64_t{graph.pipeline().size()});
  writer.Number(std::uint64_t{graph.pipeline_gpu()});
  for (const PipelineGpu& one : graph.pipeline()) {
    writer.Text(PrintGraph(one.graph, {.with_timeline = true}));
    writer.Text(one.blocks);
    writer.Number(one.in_flight);
  }
}

OperatorGraph TakeStages(ByteReader& reader, OperatorGraph graph,
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
  ByteReader reader(answer);
  try {
    return take(reader);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInternal) throw;
    Refuse(error.what());
  }
}

}  // namespace

std::string PackDescription(const Program& program) {
  ByteWriter writer;
  writer.Text(program.format());
  writer.Number(std::uint64_t{program.inputs().size()});
  for (const InputSpec& spec : program.inputs()) PutSpec(writer, spec);
  writer.Number(program.parameter_elements());
  const std::map<DType, std::int64_t> elements = program.weight_elements();
  writer.Number(std::uint64_t{elements.size()});
  for (const auto& [dtype, count] : elements) {
    PutType(writer, dtype);
    writer.Number(count);
  }
  for (const Mode mode : kModes) PutWarnings(writer, program.warnings(mode));
  return writer.Take();
}

Description UnpackDescription(std::string_view answer) {
  if (std::ssize(answer) > kMostDescriptionBytes) {
    Refuse(fmt::format("a description of {} bytes, at most {} are taken",
                       answer.size(), kMostDescriptionBytes));
  }
  return Unpack(answer, [](ByteReader& reader) {
    Description description{.format = reader.Text()};
    if (std::ranges::find(kFormats, description.format) == kFormats.end()) {
      Refuse("an unknown format");
    }
    description.inputs.resize(TakeCount(reader, kMostTensors));
    for (InputSpec& spec : description.inputs) spec = TakeSpec(reader);
    description.parameter_elements = TakeSize(reader);
    for (auto left = TakeCount(reader, kMostTensors); left > 0; --left) {
      const DType dtype = TakeType(reader);
      description.weight_elements[dtype] = TakeSize(reader);
    }
    for (std::vector<std::string>& texts : description.warnings) {
      texts = TakeWarnings(reader);
    }
    return description;
  });
}

std::string PackRequest(const Request& request) {
  ByteWriter writer;
  writer.Number(std::uint8_t{true});
  writer.Text(request.name);
  PutOptions(writer, request.options);
  PutInputs(writer, request.inputs);
  return writer.Take();
}

std::string PackExpected(const std::string& name, const StepRequest& trace) {
  ByteWriter writer;
  writer.Number(std::uint8_t{false});
  writer.Text(name);
  PutOptions(writer, trace.options);
  PutInputs(writer, trace.inputs.inputs);
  PutOptional(writer, trace.inputs.batch);
  writer.Number(std::uint64_t{trace.inputs.values.size()});
  for (const auto& [input, values] : trace.inputs.values) {
    writer.Text(input);
    PutNumbers(writer, values);
  }
  writer.Number(std::uint64_t{trace.inputs.dims.size()});
  for (const auto& [dim, size] : trace.inputs.dims) {
    writer.Text(dim);
    writer.Number(size);
  }
  return writer.Take();
}

Request UnpackRequest(std::string_view bytes,
                      std::span<const InputSpec> inputs) {
  ByteReader reader(bytes);
  const bool is_bound = TakeFlag(reader);
  Request request{.name = reader.Text()};
  request.options = TakeOptions(reader);
  request.inputs = TakeInputs(reader);
  if (is_bound) return request;
  InputRequest wanted{.inputs = std::move(request.inputs)};
  wanted.batch = TakeOptional<std::int64_t>(reader);
  for (std::uint64_t left = TakeCount(reader, kMostTensors); left > 0; --left) {
    const std::string input = reader.Text();
    wanted.values[input] = TakeNumbers(reader);
  }
  for (auto left = TakeCount(reader, kMostTensors); left > 0; --left) {
    const std::string dim = reader.Text();
    wanted.dims[dim] = reader.Number<std::int64_t>();
  }
  request.inputs = BindInputs(inputs, wanted, request.name);
  return request;
}

std::string PackTrace(const Trace& trace) {
  ByteWriter writer;
  writer.Text(PrintGraph(trace.graph, {.with_timeline = true}));
  PutStages(writer, trace.graph);
  PutOutputs(writer, trace.outputs);
  PutWarnings(writer, trace.warnings);
  writer.Text(trace.loss);
  return writer.Take();
}

Trace UnpackTrace(std::string_view answer, const Request& request,
                  const ParseLimits& limits) {
  return Unpack(answer, [&](ByteReader& reader) {
    OperatorGraph graph = ParseWithin(limits, reader.View(), request.name);
    graph = TakeStages(reader, std::move(graph), request.name, limits);
    Trace trace{.graph = std::move(graph),
                .inputs = request.inputs,
                .outputs = TakeOutputs(reader),
                .warnings = TakeWarnings(reader),
                .loss = reader.Text()};
    const GraphInfo& info = trace.graph.info();
    const Run& run = request.options.run;
    if (info.name != request.name || info.mode != run.mode ||
        info.precision != UncastPrecision(run) ||
        info.autocast != AutocastType(run) || info.grad_mode != run.grad_mode ||
        info.channels_last != run.channels_last) {
      Refuse("the graph of another step");
    }
    return trace;
  });
}

}  // namespace foretell::sandboxed
