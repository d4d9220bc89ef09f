#pragma once

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "foretell/program.h"

namespace foretell::torchscript {

/// A loaded module whose tensors have been replaced by ones on a device.
struct ModuleTensors {
  std::vector<NamedTensor> parameters;
  std::vector<NamedTensor> buffers;
};

/// Puts new tensors of the same shapes on `options.device` into every slot of
/// `module` (which may still hold weights that must not be read), shared
/// tensors staying shared, and sets its training flag.
ModuleTensors ReplaceTensors(torch::jit::Module& module,
                             const InstanceOptions& options);

/// Elements of the parameters of `module` by element type, and of its buffers
/// of 8-bit integers with two or more dimensions, which are weights, too.
std::map<DType, std::int64_t> WeightElements(const torch::jit::Module& module);

/// Whether `node` is a constant of the code that is a tensor.
bool HoldsTensor(const torch::jit::Node& node);

/// Moves tensor constants with at least one dimension in every graph of
/// `module` to the device and precision of `options`; scalars stay, because
/// they carry shape arithmetic. Must come before the first run.
///
/// Tensors that the code itself makes without naming a device (torch.zeros(n))
/// stay on the CPU, where eager code would have them.
void MoveConstants(const torch::jit::Module& module,
                   const InstanceOptions& options);

}  // namespace foretell::torchscript
