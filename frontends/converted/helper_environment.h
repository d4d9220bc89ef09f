#pragma once

#include <functional>
#include <string>

#include "frontends/converted/converters.h"

namespace foretell::converted {

/// Takes a sentence for the user.
using Tell = std::function<void(const std::string&)>;

/// Python with the packages that a converter needs.
struct HelperEnvironment {
  std::string folder;
  std::string interpreter;         ///< In `folder`.
  std::string interpreter_folder;  ///< Of the Python that it was made by.
};

/// The environment of `converter`:
/// $XDG_CACHE_HOME/foretell/converters/NAME-HASH
/// ($HOME/.cache where that is not set), with a hash of its requirements and of
/// the Python that is taken: $FORETELL_PYTHON, or python3.
///
/// Where there is none it is made, by venv and pip, which use the network; one
/// that is not complete is made anew, and of two processes the second one
/// waits. `tell` hears what is done and how much it takes, before it is done.
///
/// Throws Error(kIo) where the disk is too small, and Error(kUnsupported) with
/// the last words of Python or pip and the log's name where they fail.
HelperEnvironment ProvideEnvironment(const Converter& converter,
                                     const Tell& tell);

}  // namespace foretell::converted
