#pragma once

#include <string>
#include <vector>

#include "foretell/frontends.h"
#include "frontends/converted/converters.h"

namespace foretell::converted {

/// What an interpreter of Python consists of beside its environment's folder.
struct PythonFiles {
  /// What is executed: the interpreter, and the loader of its libraries.
  std::vector<std::string> programs;
  std::vector<std::string> libraries;  ///< Folders of modules, and files.
};

/// Python with the packages that a converter needs.
struct HelperEnvironment {
  std::string folder;
  std::string interpreter;  ///< In `folder`; maybe a link.
  PythonFiles python;       ///< Of the Python that it was made by.
};

/// The environment of `converter`:
/// $XDG_CACHE_HOME/foretell/converters/NAME-HASH
/// ($HOME/.cache where that is not set), with a hash of its requirements and of
/// the Python that is taken: $FORETELL_PYTHON, or python3.
///
/// Where there is none it is made if `options.may_install` says so, by venv and
/// pip, which use the network; one that is not complete is made again, and of
/// two processes the second one waits. `options.tell` hears what is done and
/// how much it takes, before it is done.
///
/// Throws Error(kIo) where the disk is too small, and Error(kUnsupported) where
/// it may not be made, and with the last words of Python or pip and the log's
/// name where they fail.
HelperEnvironment ProvideEnvironment(const Converter& converter,
                                     const ConversionOptions& options);

}  // namespace foretell::converted
