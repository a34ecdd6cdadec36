#include "server/workers/program.h"

#include <cstring>

namespace hotplate::server {
namespace {

void Append(std::string& text, std::uint64_t number) {
  text.append(reinterpret_cast<const char*>(&number), sizeof(number));
}
void Append(std::string& text, const std::string& one) {
  Append(text, one.size());
  text += one;
}
void Append(std::string& text, const std::vector<std::string>& several) {
  Append(text, several.size());
  for (const std::string& one : several) Append(text, one);
}

// Reads a text that this very program wrote.
class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}
  std::uint64_t Number() {
    std::uint64_t number = 0;
    std::memcpy(&number, text_.data() + at_, sizeof(number));
    at_ += sizeof(number);
    return number;
  }
  std::string Text() {
    const std::size_t size = Number();
    at_ += size;
    return text_.substr(at_ - size, size);
  }
  std::vector<std::string> Texts() {
    std::vector<std::string> several(Number());
    for (std::string& one : several) one = Text();
    return several;
  }

 private:
  const std::string& text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string TextOf(const Program& program) {
  std::string text;
  Append(text, program.file);
  Append(text, program.arguments);
  Append(text, program.environment);
  Append(text, program.folder);
  Append(text, program.memory_bytes);
  Append(text, std::uint64_t{program.umask});
  Append(text, std::uint64_t{program.strays_end});
  return text;
}

Program ProgramOf(const std::string& text) {
  Reader reader(text);
  Program program;
  program.file = reader.Text();
  program.arguments = reader.Texts();
  program.environment = reader.Texts();
  program.folder = reader.Text();
  program.memory_bytes = reader.Number();
  program.umask = static_cast<mode_t>(reader.Number());
  program.strays_end = reader.Number() != 0;
  return program;
}

}  // namespace hotplate::server
