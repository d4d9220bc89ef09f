#pragma once

#include <string>
#include <string_view>

namespace foretell::torchscript {

/// Refuses a pickle that states lengths or memo numbers beyond its content,
/// which LibTorch would allocate, and one that names anything except dense
/// tensors, lists, devices and classes of the file's own code, since LibTorch's
/// readers of others trust what they read, or run code from it. Throws Error
/// that names `path`, `record`, the byte and both values: kUnsupported for a
/// name that is not supported, kCorrupt for everything else.
void RefuseBadPickle(const std::string& path, const std::string& record,
                     std::string_view pickle);

}  // namespace foretell::torchscript
