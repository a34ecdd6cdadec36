// The allowed characters of words in profiles and requests. Every word of a batch script has passed one of these
// checks: none allows a line end, a quote or a shell command.
#pragma once

#include <string>

namespace hotplate::cli {

// Visible UTF-8 in one line, 1 to 400 bytes.
bool IsLine(const std::string& text);
// A line without ' " \ ` and $, which can stand between quotes in a directive and between double quotes in a shell.
bool IsAccount(const std::string& text);
// A letter or digit, then letters, digits and . _ : + -; up to 64 bytes. Types, partitions.
bool IsWord(const std::string& text);
bool IsVariable(const std::string& text);    // HOME
bool IsInterface(const std::string& text);   // ib0
bool IsCapability(const std::string& text);  // 8.9
// "40000" or "40000-40100", ascending, 1024 to 65535.
bool IsPortRange(const std::string& text);
// "64G": a number with K, M, G, T or nothing behind it.
bool IsMemory(const std::string& text);
// For double quotes of a shell: plain characters, $NAME and {placeholders}.
bool IsShellValue(const std::string& text);
// A word that a shell takes as it is, with {placeholders}.
bool IsLauncherWord(const std::string& text);
// A line of a script's head behind "#SBATCH ": printable ASCII without `, beginning with -.
bool IsDirective(const std::string& text);
bool IsDirectiveTemplate(const std::string& text);
bool IsPattern(const std::string& text);
// The whole text by a POSIX extended regular expression, in any case: that is how schedulers take accounts. An empty
// pattern takes any.
bool Matches(const std::string& text, const std::string& pattern);

// A word of a shell's command line, in single quotes where it needs them.
std::string ShellQuoted(const std::string& word);

}  // namespace hotplate::cli
