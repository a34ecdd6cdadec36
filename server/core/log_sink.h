// Where the core's messages go.
#pragma once

#include <functional>
#include <string>

namespace hotplate::core {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

struct LogSink {
  // Called with no lock held, from any thread. May be empty.
  std::function<void(LogLevel, const std::string&)> write = nullptr;
  LogLevel level = LogLevel::kInfo;

  // Messages that nobody wants are not even made.
  bool Wants(LogLevel one) const { return write != nullptr && one >= level; }
  void operator()(LogLevel one, const std::string& text) const {
    if (Wants(one)) write(one, text);
  }
};

}  // namespace hotplate::core
