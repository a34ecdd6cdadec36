// Text that is longer than the screen, shown page by page.
#pragma once

#include <string>

#include "client/cli/terminal/console.h"

namespace hotplate::cli {

// `text` wrapped to the terminal's width. If it is longer than the screen, $PAGER (else less) shows it, and an empty
// text is returned. Unchanged without a terminal.
std::string Paged(const Console& console, const std::string& text);

}  // namespace hotplate::cli
