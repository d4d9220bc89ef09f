#pragma once

#include <caffe2/serialize/inline_container.h>

#include <string>

namespace foretell::torchscript {

/// Refuses an archive in which a constant's record is shorter than its tensor:
/// LibTorch's loader does not compare them, and reading the tensor would run
/// past the end of the record. (Weights are never read, constants are.) Throws
/// Error kCorrupt that names the record and both sizes, kUnsupported for
/// constants that are not tensors or plain values.
void RefuseShortConstants(const std::string& path,
                          caffe2::serialize::PyTorchStreamReader& reader);

}  // namespace foretell::torchscript
