#pragma once

#include <ATen/core/stack.h>

namespace c10 {
class OperatorHandle;
}

namespace foretell {

/// Gives every ATen operator of docs/meta_kernels.md a kernel for the meta
/// device, so that a network's forward pass, backward pass and optimizer step
/// run on meta tensors with the shapes, element types, strides and saved
/// tensors of a CUDA run.
///
/// Operators that the running LibTorch already serves on meta keep its kernel,
/// those that it composes of others keep the composite, except the overrides
/// which the same page lists. Operators that it does not know are skipped.
/// torchvision's operators are defined, too, unless torchvision itself is
/// loaded, and operators for Liger's kernels.
///
/// May be called any number of times from any thread; the first call works and
/// the kernels stay for the life of the process.
void RegisterMetaKernels();

/// True when `op` can run on meta tensors: it has a kernel for the meta device
/// or one composed of other operators, and its result's shape does not depend
/// on the values of its inputs.
bool HasMetaKernel(const c10::OperatorHandle& op);

/// True when the shape (or Python value) that `op` returns depends on the
/// values of its inputs, whatever they are: nonzero, unique, item … Such
/// operators can only throw on meta tensors.
bool IsDataDependent(const c10::OperatorHandle& op);

/// The same with the arguments on `stack`: index by a mask is data-dependent,
/// index by numbers is not.
bool DependsOnData(const c10::OperatorHandle& op,
                   const torch::jit::Stack& stack);

}  // namespace foretell
