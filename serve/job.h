#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/message.h"
#include "serve/served_command.h"

namespace foretell::serve {

/// The options of a request: a flag's name in JSON and a value; a flag that is
/// a list appears several times.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// A request in terms of its HTTP body.
struct Request {
  std::vector<std::string> zoo;  ///< "zoo:resnet50".
  std::vector<SentFile> files;
  Settings settings;
};

/// The request in a JSON body: `model` (or `models`) of the zoo, and `options`.
/// Throws Error(kInvalidArgument) that names the invalid member.
Request ReadJsonRequest(std::string_view body);

/// Members of a JSON object as settings; errors as above.
Settings ReadSettings(std::string_view json);

/// The command line that answers `request`. Throws Error(kInvalidArgument) for
/// a flag that is not served, a value of the wrong kind, a missing model or too
/// many, and a name that is not in the zoo.
Job MakeJob(const ServedCommand& command, Request request);

}  // namespace foretell::serve
