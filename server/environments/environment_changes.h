// What `module load` changes in a login shell's variables, and the same changes made to those of a client: as if it had
// loaded the modules itself.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "hotplate/v1/environments.pb.h"

namespace hotplate::server {

using VariableMap = std::map<std::string, std::string>;  // by name

// From NAME=value.
VariableMap MapOf(const std::vector<std::string>& variables);

// What a shell sets for itself (PWD, SHLVL …), what is Hotplate's, and exported functions of a shell are left out.
v1::EnvironmentChanges ChangesBetween(const VariableMap& before, const VariableMap& after);

void Apply(const v1::EnvironmentChanges& changes, VariableMap& variables);

// The variables that differ, in order.
std::vector<std::string> NamesIn(const v1::EnvironmentChanges& changes);

}  // namespace hotplate::server
