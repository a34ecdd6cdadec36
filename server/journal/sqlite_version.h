#pragma once

#include <string>

namespace hotplate::journal {

std::string SqliteVersion();  // "3.40.1", of the library that runs
std::string SqliteHeaders();  // compiled with

}  // namespace hotplate::journal
