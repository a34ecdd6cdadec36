// toml++ with the same settings everywhere: without exceptions, and without its assertions. One of them (in 3.3, on the
// first character of a key) fails for text that the next lines refuse with an error.
#pragma once

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ASSERT(expression) static_assert(true)
#include <toml++/toml.h>
