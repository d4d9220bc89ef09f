#pragma once

#include <string>

#include "foretell/frontends.h"
#include "frontends/converted/converters.h"
#include "src/core/files.h"

namespace foretell::converted {

/// What a converter made of a model.
struct Converted {
  RegularFile file;  ///< Open, and deleted already; its path is the model's.
  std::string note;  ///< By what it was made, and what that means for figures.
};

/// Runs the converter of the model at `path`, in its environment, which is made
/// where there is none. The converter is locked (src/sandbox/program_lock.h) as
/// options.sandbox says, and has ten times options.timeout_s. Tells
/// options.conversion what is done.
///
/// Throws Error(kUnsupported), whose message starts with `path`, where
/// conversion is not allowed, where its environment cannot be made, and with
/// the converter's last words where it fails.
Converted Convert(const std::string& path, const Conversion& conversion,
                  const LoadOptions& options);

}  // namespace foretell::converted
