#pragma once

#include <string>
#include <vector>

#include "foretell/frontends.h"
#include "frontends/converted/converters.h"

namespace foretell::converted {

/// Files of a Python interpreter outside its environment's folder.
struct PythonFiles {
  /// Executed files: the interpreter, and the loader of its libraries.
  std::vector<std::string> programs;
  std::vector<std::string> libraries;  ///< Folders of modules, and files.
};

/// Python with the packages that a converter needs.
struct HelperEnvironment {
  std::string folder;
  std::string interpreter;  ///< In `folder`; possibly a link.
  PythonFiles python;       ///< Of the Python that made it.
};

/// The environment of `converter`:
/// $XDG_CACHE_HOME/foretell/converters/NAME-HASH
/// ($HOME/.cache if that is not set), with a hash of its requirements and of
/// the Python that is used: $FORETELL_PYTHON, or python3.
///
/// If it does not exist and `options.may_install` allows it, creates it with
/// venv and pip, which use the network; recreates an incomplete one; if another
/// process is creating it, waits. Reports to `options.tell` in advance what
/// will be done and the space needed.
///
/// Throws Error(kIo) if the disk is too small, and Error(kUnsupported) if it
/// may not be created, and with the last lines of Python or pip and the log's
/// name if they fail.
HelperEnvironment ProvideEnvironment(const Converter& converter,
                                     const ConversionOptions& options);

}  // namespace foretell::converted
