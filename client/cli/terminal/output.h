// A command's answer on standard output, in one of three forms: for people, as JSON, or only the essentials for a
// script (an id, a name; often nothing).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "client/cli/terminal/console.h"

namespace hotplate::cli {

class Output {
 public:
  virtual ~Output() = default;
  // One of the three is asked for and written; a missing newline at the end is added.
  virtual void Answer(const std::function<std::string()>& for_people, const std::function<std::string()>& json,
                      const std::string& essentials) = 0;
  // Whether anything but the answer itself may be said: progress, receipts.
  virtual bool talkative() const = 0;
};

enum class OutputForm { kPeople, kJson, kQuiet };
std::unique_ptr<Output> MakeOutput(OutputForm form, Console& console);

// Words that are the same for people and for scripts; {"text": …} as JSON.
void AnswerText(Output& output, const std::string& text);
// The same for people: wrapped to the terminal, and paged if it is longer than the screen.
void AnswerPage(const Console& console, Output& output, const std::string& text);

// "✓ text", the mark in green.
std::string Done(const Console& console, const std::string& text);

}  // namespace hotplate::cli
