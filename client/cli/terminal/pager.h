// Text that is longer than the screen, shown page by page.
#pragma once

#include <string>

#include "client/cli/terminal/console.h"

namespace hotplate::cli {

// `text` as the terminal takes it, wrapped to its width. Where it is longer than the screen, $PAGER (else less) shows
// it, and nothing is left to be written. Without a terminal as it is.
std::string Paged(const Console& console, const std::string& text);

}  // namespace hotplate::cli
