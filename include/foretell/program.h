#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foretell/graph.h"

namespace foretell {

/// A dimension of a program's input: fixed, named or free.
struct InputDim {
  std::optional<std::int64_t> value;
  std::string symbol;  ///< "batch", "seq_len"; empty when it has no name.
  /// Sizes that the file allows; empty: any.
  std::optional<std::int64_t> at_least = {};
  std::optional<std::int64_t> at_most = {};
};

/// What a file declares about one of its inputs.
struct InputSpec {
  std::string name;
  std::optional<DType> dtype;  ///< Empty if the file does not state it.
  /// Empty optional when the file does not even give the rank.
  std::optional<std::vector<InputDim>> dims;
  /// A whole number that the file's own checks accept as content.
  std::int64_t fill = 1;
  /// A Python number and not a tensor; without given content it is `fill`.
  bool is_number = false;
  /// The program has a default for it: bound only if a request names it.
  bool is_optional = false;
};

/// The least batch that a file allows: by the leading dimension of the first
/// input that has one.
std::int64_t LeastBatch(std::span<const InputSpec> specs);

/// True if a file gives every size of its inputs as a number.
bool FixesSizes(std::span<const InputSpec> specs);

/// An input with its exact type.
struct BoundInput {
  std::string name;
  TensorType type;
  /// Content as the caller gives it, one whole number per element (Booleans as
  /// 0 and 1); empty: not given. A tensor with given content lives on the host,
  /// so that a trace without arithmetic can read it.
  std::vector<std::int64_t> values = {};
  /// Content of whole numbers if `values` is empty, see InputSpec::fill.
  std::int64_t fill = 1;
  /// Symbol of each dimension whose size is that of the file's example because
  /// the request leaves it open, by position.
  std::map<std::size_t, std::string> from_example = {};
  /// False in a request that leaves the element type to the file; `type` then
  /// has the one to use if the file does not state it.
  bool says_dtype = true;
};

/// The length of the sequences where InputRequest::dims has sizes by name.
inline constexpr char kSequenceLength[] = "--seq-len";

/// What the user states about a program's inputs.
struct InputRequest {
  /// `--input name=f32[8,3,224,224]`; the name may be empty for the only input.
  std::vector<BoundInput> inputs;
  std::optional<std::int64_t> batch;  ///< `--batch 8`.
  /// `--dim seq=128`; and `--seq-len 128` as kSequenceLength.
  std::map<std::string, std::int64_t> dims;
  /// `--value lengths=7,3,1`, by input.
  std::map<std::string, std::vector<std::int64_t>> values = {};
};

/// Parses `name=f32[8,3]`; the name and the type may be left out, and the
/// brackets with the type: `8,3`. Types may have PyTorch's names: `float32`,
/// `torch.bfloat16`, `long`. Throws Error(kInvalidArgument) that quotes `text`.
BoundInput ParseInput(std::string_view text);

/// Exact types of all inputs of a program named `origin`.
///
/// An input named by the request gets its type; an optional one without is left
/// out. Otherwise the leading
/// dimension becomes `batch` where it is free, or where it is fixed and every
/// input has the same fixed leading dimension; named dimensions come from
/// `dims`. Without a batch, one that is free becomes 1 (TakesBatchOfOne).
/// Throws Error(kInvalidArgument) once for all dimensions that stay
/// open, with the flag that would fix each, and for a request that names an
/// input or dimension which the program does not have, or an empty batch.
std::vector<BoundInput> BindInputs(std::span<const InputSpec> specs,
                                   const InputRequest& request,
                                   const std::string& origin);

/// The names of `inputs`, in their order.
std::vector<std::string> NamesOf(std::span<const BoundInput> inputs);

/// Whether BindInputs would choose a batch of 1, as the request names none and
/// an input leaves it open. Errors as BindInputs.
bool TakesBatchOfOne(std::span<const InputSpec> specs,
                     const InputRequest& request);

/// A tensor of a program with the name that its file gives.
struct NamedTensor {
  std::string name;
  at::Tensor tensor;
};

/// The scalar that a training step goes backward from.
struct NamedLoss {
  std::string name;  ///< "cross entropy over 32000 classes".
  at::Tensor value;
};

/// How to put a program onto a device.
struct InstanceOptions {
  at::Device device = at::Device(at::kMeta);
  /// kFp16 and kBf16 cast parameters, floating-point constants and inputs.
  Precision precision = Precision::kFp32;
  Mode mode = Mode::kInference;
  std::uint64_t seed = 0;  ///< Seed of random weights where the file has none.
  /// Names of the inputs that Forward gets; empty: all except optional ones.
  std::vector<std::string> inputs = {};
};

/// A program on one device, ready to be called.
class ProgramInstance {
 public:
  virtual ~ProgramInstance() = default;

  /// Runs the forward pass. Inputs are consumed: they die as early as eager
  /// code would let them. Results come in the program's order; numbers and what
  /// is computed from shapes are tensors on the CPU. Throws Error.
  virtual std::vector<at::Tensor> Forward(std::vector<at::Tensor> inputs) = 0;
  /// Names of the last Forward's results, in its order; an empty name, or a
  /// shorter list, where the file has none.
  virtual std::vector<std::string> OutputNames() const { return {}; }
  /// The loss that this network is trained with, from what Forward was given
  /// and returned; empty if the program does not define one.
  virtual std::optional<NamedLoss> Loss(
      const std::vector<at::Tensor>& /*inputs*/,
      const std::vector<at::Tensor>& /*outputs*/) {
    return std::nullopt;
  }
  /// Trainable floating-point weights on the device, leaves of autograd in
  /// training mode. Shared weights appear once.
  virtual std::vector<NamedTensor> Parameters() const = 0;
  /// Constants and running statistics on the device.
  virtual std::vector<NamedTensor> Buffers() const = 0;
  /// Name of the node or module that is running, for the graph's scopes.
  virtual std::string CurrentScope() const = 0;
  /// The modules that are running, outermost first, without the network itself;
  /// empty if the program does not report them, or if its own code keeps alive
  /// what modules are called with.
  virtual std::vector<std::string> CurrentCalls() const { return {}; }
  /// True when the program's own code names devices (a TorchScript file carries
  /// the one it was traced on): a trace then redirects them to its own.
  virtual bool NamesDevices() const { return false; }
  /// Operators of the program, by the file's names, that a trace without
  /// arithmetic may have to refuse: they depend on data or have no kernel for
  /// it. Asked for when the first one is met, so that all are reported at once.
  virtual std::vector<std::string> UntraceableOperators() const { return {}; }
};

struct Trace;         // foretell/trace.h
struct TraceOptions;  // foretell/trace.h

/// Something that can be called on inputs on any ATen device: a model file
/// after its frontend, or a network of the zoo. A cheap handle.
class Program {
 public:
  /// What a frontend implements.
  class Source {
   public:
    virtual ~Source() = default;
    /// Word for the kind of file; see Program::format.
    virtual std::string_view format() const = 0;
    /// Inputs in the order of Forward; they live as long as the source.
    virtual std::span<const InputSpec> inputs() const = 0;
    /// Trainable elements as the file declares them.
    virtual std::int64_t parameter_elements() const = 0;
    /// What the source did with the file that a user should know about a run in
    /// `mode`, in sentences.
    virtual std::vector<std::string> warnings(Mode mode) const = 0;
    /// Elements of the weights by type; see Program::weight_elements.
    virtual std::map<DType, std::int64_t> weight_elements() const { return {}; }
    /// The type in which the network is published; see Program::stated_dtype.
    virtual std::optional<DType> stated_dtype() const { return std::nullopt; }
    /// The program with its weights on a device. Throws Error.
    virtual std::unique_ptr<ProgramInstance> Instantiate(
        const InstanceOptions& options) const = 0;
    /// The result of TraceProgram for `program`, which has this source, if the
    /// source is not instantiated in this process. Empty: it is. Throws Error.
    virtual std::optional<Trace> TraceElsewhere(
        const Program& program, const std::vector<BoundInput>& inputs,
        const TraceOptions& options) const;
  };

  Program(std::string name, std::shared_ptr<const Source> source)
      : name_(std::move(name)), source_(std::move(source)) {}

  /// Path of the file, or name in the zoo.
  const std::string& name() const { return name_; }
  /// The same program under another name, which its graphs then have too.
  Program Named(std::string name) const { return {std::move(name), source_}; }
  /// "onnx", "torchscript", "zoo".
  std::string_view format() const { return source_->format(); }
  std::span<const InputSpec> inputs() const { return source_->inputs(); }
  /// Trainable elements as the file declares them.
  std::int64_t parameter_elements() const {
    return source_->parameter_elements();
  }
  /// Elements of the weights by element type as the file declares them: of all
  /// parameters, and of quantised weights (8-bit integers with two or more
  /// dimensions). Empty if the program does not state them.
  std::map<DType, std::int64_t> weight_elements() const {
    return source_->weight_elements();
  }
  /// Type of the published weights of a network whose weights have the type
  /// that the run's precision gives; empty if unknown.
  std::optional<DType> stated_dtype() const { return source_->stated_dtype(); }
  /// What the user ought to know about a run in `mode`.
  std::vector<std::string> warnings(Mode mode) const {
    return source_->warnings(mode);
  }
  /// Seeds LibTorch's generator for the CPU, by which weights are drawn there.
  std::unique_ptr<ProgramInstance> Instantiate(
      const InstanceOptions& options) const;
  std::optional<Trace> TraceElsewhere(const std::vector<BoundInput>& inputs,
                                      const TraceOptions& options) const;

 private:
  std::string name_;
  std::shared_ptr<const Source> source_;
};

/// Element type in a run of `precision` of tensors that have `type` in the
/// file: kFp16 and kBf16 cast every floating-point type of 16 bits or more, as
/// `model.half()` does; the others change nothing.
at::ScalarType StoredAs(at::ScalarType type, Precision precision);
/// ATen's element type for `dtype` in a run of `precision`, as above.
at::ScalarType ToScalarType(DType dtype,
                            Precision precision = Precision::kFp32);
/// The content that the caller gave `input`, on the CPU.
at::Tensor GivenTensor(const BoundInput& input);
/// DType that stands for `type`; empty if there is none.
std::optional<DType> HeldAs(at::ScalarType type);
/// Inverse of ToScalarType; throws Error(kUnsupported) for quantised and
/// complex-half types.
DType ToDType(at::ScalarType type);

}  // namespace foretell
