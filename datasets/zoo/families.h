#pragma once

#include <span>

#include "datasets/zoo/family.h"

namespace foretell::zoo {

/// All families, in the order of documentation. A new family is one file, one
/// line here and one in families.cc.
std::span<const Family> Families();

extern const Family kResNet;

}  // namespace foretell::zoo
