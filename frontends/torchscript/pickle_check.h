#pragma once

#include <string>
#include <string_view>

namespace foretell::torchscript {

/// Refuses a pickle that would make LibTorch's reader allocate for what is not
/// there: strings and memo numbers are followed through the instructions and
/// must be no larger than the pickle. Throws Error(kCorrupt) that names `path`,
/// `record`, the byte and both values.
void RefuseBadPickle(const std::string& path, const std::string& record,
                     std::string_view pickle);

}  // namespace foretell::torchscript
