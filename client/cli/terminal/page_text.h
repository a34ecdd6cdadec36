// A page of Markdown as text for a terminal: paragraphs and tables are fitted to its width, code stays as it is.
#pragma once

#include <string>
#include <string_view>

namespace hotplate::cli {

// Knows the Markdown of our pages: headings, paragraphs, lists, tables, fenced code, bold, links and images. A link to
// another page becomes "(hotplate help NAME)"; images and remarks are left out. `bold`: allow escape sequences.
std::string PageText(std::string_view markdown, int width, bool bold);

}  // namespace hotplate::cli
