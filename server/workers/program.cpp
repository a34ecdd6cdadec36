#include "server/workers/program.h"

#include <cstdint>

#include "server/workers/byte_text.h"

namespace hotplate::server {
namespace {

void AppendText(std::string& text, const std::string& one) {
  AppendNumber(text, std::uint64_t{one.size()});
  text += one;
}
void AppendTexts(std::string& text, const std::vector<std::string>& several) {
  AppendNumber(text, std::uint64_t{several.size()});
  for (const std::string& one : several) AppendText(text, one);
}

std::string TextIn(ByteReader& reader) { return std::string(reader.Bytes(reader.Number<std::uint64_t>())); }
std::vector<std::string> TextsIn(ByteReader& reader) {
  std::vector<std::string> several(reader.Number<std::uint64_t>());
  for (std::string& one : several) one = TextIn(reader);
  return several;
}

}  // namespace

std::string TextOf(const Program& program) {
  std::string text;
  AppendText(text, program.file);
  AppendTexts(text, program.arguments);
  AppendTexts(text, program.environment);
  AppendText(text, program.folder);
  AppendNumber(text, program.memory_bytes);
  AppendNumber(text, std::uint64_t{program.umask});
  AppendNumber(text, std::uint64_t{program.strays_end});
  AppendNumber(text, std::uint64_t{program.terminal.has_value()});
  return text;
}

Program ProgramOf(const std::string& text) {
  ByteReader reader(text);
  Program program;
  program.file = TextIn(reader);
  program.arguments = TextsIn(reader);
  program.environment = TextsIn(reader);
  program.folder = TextIn(reader);
  program.memory_bytes = reader.Number<std::uint64_t>();
  program.umask = static_cast<mode_t>(reader.Number<std::uint64_t>());
  program.strays_end = reader.Number<std::uint64_t>() != 0;
  if (reader.Number<std::uint64_t>() != 0) program.terminal.emplace();  // its size is the terminal's to say
  return program;
}

}  // namespace hotplate::server
