#pragma once

#include <string>

#include "foretell/program.h"

namespace foretell::converted {

/// `program` with `note` as an additional first warning of its runs.
Program WithNote(const Program& program, std::string note);

}  // namespace foretell::converted
