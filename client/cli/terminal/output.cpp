#include "client/cli/terminal/output.h"

#include "client/cli/terminal/json.h"
#include "client/cli/terminal/pager.h"

namespace hotplate::cli {
namespace {

using Maker = std::function<std::string()>;

void Write(Console& console, const std::string& text) {
  if (text.empty()) return;
  console.out << text;
  if (text.back() != '\n') console.out << "\n";
  console.out.flush();
}

class PeopleOutput : public Output {
 public:
  explicit PeopleOutput(Console& console) : console_(console) {}
  void Answer(const Maker& for_people, const Maker&, const std::string&) override { Write(console_, for_people()); }
  bool talkative() const override { return true; }

 private:
  Console& console_;
};

class JsonOutput : public Output {
 public:
  explicit JsonOutput(Console& console) : console_(console) {}
  void Answer(const Maker&, const Maker& json, const std::string&) override { Write(console_, json()); }
  bool talkative() const override { return false; }

 private:
  Console& console_;
};

class QuietOutput : public Output {
 public:
  explicit QuietOutput(Console& console) : console_(console) {}
  void Answer(const Maker&, const Maker&, const std::string& essentials) override { Write(console_, essentials); }
  bool talkative() const override { return false; }

 private:
  Console& console_;
};

}  // namespace

std::unique_ptr<Output> MakeOutput(OutputForm form, Console& console) {
  switch (form) {
    case OutputForm::kJson:
      return std::make_unique<JsonOutput>(console);
    case OutputForm::kQuiet:
      return std::make_unique<QuietOutput>(console);
    case OutputForm::kPeople:
      break;
  }
  return std::make_unique<PeopleOutput>(console);
}

void AnswerText(Output& output, const std::string& text) {
  output.Answer([&] { return text; }, [&] { return JsonObject().Text("text", text).Json(); }, text);
}

void AnswerPage(const Console& console, Output& output, const std::string& text) {
  output.Answer([&] { return Paged(console, text); }, [&] { return JsonObject().Text("text", text).Json(); }, text);
}

std::string Done(const Console& console, const std::string& text) {
  return Paint(console.out_colour, Tone::kGood, "✓") + " " + text;
}

}  // namespace hotplate::cli
