// Standard input line by line, no faster than it is asked for: what nobody takes stays in the pipe, and its writer
// waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"

namespace hotplate::cli {

struct InputLine {
  std::uint64_t number = 0;  // from 1
  std::string text = {};     // without its end; empty if it is too long
  bool too_long = false;
};

class InputLines {
 public:
  // A longer line comes as `too_long`, and its text is dropped.
  static constexpr std::size_t kLongest = std::size_t{1} << 20;

  explicit InputLines(int descriptor) : descriptor_(descriptor) {}

  // The next line that has been read; nothing if there is none yet, or none any more.
  std::optional<InputLine> Next();
  // Reads once, and waits for it. Call it when Next has nothing and the input has not ended.
  absl::Status Fill();
  bool ended() const { return ended_; }

 private:
  InputLine Cut(std::size_t length);

  const int descriptor_;
  std::string read_;  // from next_ on not yet taken
  std::size_t next_ = 0;
  std::size_t looked_at_ = 0;  // no line ends before it
  std::uint64_t number_ = 0;
  bool skipping_ = false;  // the beginning of a line that is too long has been dropped
  bool ended_ = false;
};

}  // namespace hotplate::cli
