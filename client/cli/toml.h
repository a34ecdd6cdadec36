// toml++, set up the same wherever it is used: without exceptions, and without its assertions, one of which (in 3.3, of
// the first character of a key) fails for text that the very next lines refuse with an error.
#pragma once

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 0
#define TOML_ASSERT(expression) static_assert(true)
#include <toml++/toml.h>
