// The names that `module load` takes, for daemons and clients.
#pragma once

#include <string>

namespace hotplate {

// The rule of IsModuleName, for people.
inline constexpr char kModuleNameRule[] = "a module's name: letters, digits and . _ + / -";

// A letter or digit, then letters, digits and . _ + / -; up to 128 bytes: GCC/12.3.0. Nothing that a shell obeys, and
// no option of `module`.
bool IsModuleName(const std::string& text);

}  // namespace hotplate
