#pragma once

#include <string>

#include "foretell/frontends.h"
#include "frontends/converted/converters.h"
#include "src/core/files.h"

namespace foretell::converted {

/// A converted model.
struct Converted {
  RegularFile
      file;  ///< Open, and already deleted; its path is that of the model.
  std::string note;  ///< Note on the converter and its effect on figures.
};

/// Runs the converter of the model at `path`, in its environment, which is made
/// if it does not exist. The converter is locked (src/sandbox/program_lock.h)
/// according to options.sandbox, and has ten times options.timeout_s. Reports
/// its steps to options.conversion.
///
/// Throws Error(kUnsupported), whose message starts with `path`, if conversion
/// is not allowed, if its environment cannot be made, and with the converter's
/// last lines if it fails.
Converted Convert(const std::string& path, const Conversion& conversion,
                  const LoadOptions& options);

}  // namespace foretell::converted
