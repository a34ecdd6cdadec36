// The completion scripts, given to the shells themselves. Bash is on every machine that runs these tests; zsh and fish
// are asked where they are installed, and the test says when they are not.
#include "client/cli/completion.h"

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>

#include "client/cli/catalogue/catalogue.h"
#include "client/cli/help.h"
#include "tests/temporary_folder.h"

namespace hotplate::cli {
namespace {

using testing::HasSubstr;

class CompletionTest : public testing::Test {
 protected:
  struct Ran {
    int exit;
    std::string output;
  };
  static Ran Shell(const std::string& command) {
    FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    Ran ran{-1, ""};
    std::array<char, 4096> block{};
    while (const std::size_t n = fread(block.data(), 1, block.size(), pipe)) ran.output.append(block.data(), n);
    const int status = pclose(pipe);
    ran.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return ran;
  }
  static bool Installed(const std::string& program) { return Shell("command -v " + program).exit == 0; }

  // What bash offers for the last of `words`.
  std::string Offered(const std::string& words, int count) {
    const std::string script = folder_.Write("completion.bash", BashCompletion(EmbeddedKernels()));
    const Ran ran = Shell(path_ + "bash -c 'source " + script + "; COMP_WORDS=(" + words +
                          "); COMP_CWORD=" + std::to_string(count - 1) + "; _hotplate; echo \"${COMPREPLY[*]}\"'");
    EXPECT_EQ(ran.exit, 0) << ran.output;
    return ran.output;
  }

  // What fish offers behind `line`, sorted, without the descriptions.
  std::string OfferedByFish(const std::string& line) {
    const std::string script = folder_.Write("completion.fish", FishCompletion(EmbeddedKernels()));
    const Ran ran = Shell(path_ + "cd " + folder_.path() + "; fish --no-config -c 'source " + script +
                          "; complete -C \"" + line + "\"' | cut -f1 | sort");
    EXPECT_EQ(ran.exit, 0) << ran.output;
    return ran.output;
  }

  // What zsh offers behind each of `lines`, a line for each: at a prompt of its own, with `setup` to find the script.
  std::string OfferedByZsh(const std::string& setup, const std::vector<std::string>& lines) {
    folder_.Write("_hotplate", ZshCompletion(EmbeddedKernels()));
    // The matches are taken where zsh would add them to its list.
    folder_.Write(".zshrc", setup + R"(
zstyle ':completion:*' completer _complete
compadd() { local -a found; builtin compadd -O found "$@"; offered+=($found); }
ask() { offered=(); zle complete-word; BUFFER=; print -r -- "<${(j: :)offered}>"; }
zle -N ask
bindkey '^I' ask
)");
    const std::string script = folder_.Write("ask.zsh", R"(zmodload zsh/zpty
zpty shell zsh -i
for line; do
  zpty -w -n shell "$line"$'\t'
  zpty -r shell shown '*<*>*'
  print -r -- "${${shown##*<}%%>*}"
done
)");
    std::string command = path_ + "cd " + folder_.path() + "; ZDOTDIR=$PWD timeout 120 zsh -f " + script;
    for (const std::string& line : lines) command += " '" + line + "'";
    const Ran ran = Shell(command);
    EXPECT_EQ(ran.exit, 0) << ran.output;
    return ran.output;
  }

  // A program of that name which knows two arrays.
  void InstallFakeHotplate() {
    const std::string program =
        folder_.Write("bin/hotplate", "#!/bin/sh\n[ \"$*\" = 'arrays --quiet' ] && printf 'alpha\\nbeta\\n'\n");
    std::filesystem::permissions(program, std::filesystem::perms(0700));
    path_ = "PATH=" + folder_.path() + "/bin:$PATH; HOME=" + folder_.path() + "; export PATH HOME; ";
  }

  TemporaryFolder folder_;
  std::string path_;
};

TEST_F(CompletionTest, BashParsesIt) {
  const std::string script = folder_.Write("completion.bash", BashCompletion(EmbeddedKernels()));
  const Ran ran = Shell("bash -n " + script);
  EXPECT_EQ(ran.exit, 0) << ran.output;
  EXPECT_EQ(ran.output, "");
}

TEST_F(CompletionTest, BashOffersCommandsKernelsParametersAndChoices) {
  EXPECT_EQ(Offered("hotplate sta", 2), "status\n");
  EXPECT_EQ(Offered("hotplate run mand", 3), "mandelbrot\n");
  EXPECT_EQ(Offered("hotplate run selu --al", 4), "--alpha\n");
  EXPECT_EQ(Offered("hotplate run matmul a.npy --no-transpose-", 5), "--no-transpose-a --no-transpose-b\n");
  EXPECT_EQ(Offered("hotplate run integrate2d --variant fa", 5), "fast\n");
  EXPECT_EQ(Offered("hotplate run matmul --precision b", 5), "bf16\n");
  EXPECT_EQ(Offered("hotplate describe trig", 3), "trig_identity\n");
}

TEST_F(CompletionTest, BashOffersShellsAndNoFilesForItself) {
  EXPECT_EQ(Offered("hotplate completion \"\"", 3), "bash zsh fish\n");
}

TEST_F(CompletionTest, BashOffersArraysBehindTheColon) {
  InstallFakeHotplate();
  EXPECT_EQ(Offered("hotplate run selu -o array :", 6), "alpha beta\n") << "bash cuts at the colon";
  EXPECT_EQ(Offered("hotplate run selu -o array : al", 7), "alpha\n");
  EXPECT_EQ(Offered("hotplate run selu array:be", 4), "array:beta\n") << "COMP_WORDBREAKS without it";
}

TEST_F(CompletionTest, FishOffersShellsAndArraysButNoFiles) {
  if (!Installed("fish")) GTEST_SKIP() << "fish is not installed";
  InstallFakeHotplate();
  EXPECT_EQ(OfferedByFish("hotplate completion "), "bash\nfish\nzsh\n");
  EXPECT_EQ(OfferedByFish("hotplate run selu -o array:"), "array:alpha\narray:beta\n");
  EXPECT_EQ(OfferedByFish("hotplate run selu array:"), "array:alpha\narray:beta\n");
  folder_.Write("b.npy", "");
  EXPECT_THAT(OfferedByFish("hotplate run selu -o "), HasSubstr("b.npy"));
  EXPECT_THAT(OfferedByFish("hotplate put "), HasSubstr("b.npy"));
}

TEST_F(CompletionTest, ZshParsesIt) {
  const std::string script = folder_.Write("completion.zsh", ZshCompletion(EmbeddedKernels()));
  EXPECT_THAT(ZshCompletion(EmbeddedKernels()), testing::Not(HasSubstr("mapfile")));
  // Its body is bash's too, so that bash finds a slip where zsh is missing.
  const Ran by_bash = Shell("bash -n " + script);
  EXPECT_EQ(by_bash.exit, 0) << by_bash.output;
  if (!Installed("zsh")) GTEST_SKIP() << "zsh is not installed: its script was parsed by bash only";
  const Ran ran = Shell("zsh -n " + script);
  EXPECT_EQ(ran.exit, 0) << ran.output;
}

TEST_F(CompletionTest, ZshOffersWhatBashDoes) {
  if (!Installed("zsh")) GTEST_SKIP() << "zsh is not installed";
  InstallFakeHotplate();
  EXPECT_EQ(OfferedByZsh("autoload -Uz compinit && compinit -u -D; source ./_hotplate",
                         {"hotplate sta", "hotplate run mand", "hotplate run selu --al",
                          "hotplate run matmul a.npy --no-transpose-", "hotplate run integrate2d --variant fa",
                          "hotplate completion ", "hotplate run selu -o array:", "hotplate run selu array:be"}),
            "status\nmandelbrot\n--alpha\n--no-transpose-a --no-transpose-b\nfast\nbash zsh fish\n"
            "array:alpha array:beta\narray:beta\n");
}

TEST_F(CompletionTest, ZshFindsItInAFolderOfItsPath) {
  if (!Installed("zsh")) GTEST_SKIP() << "zsh is not installed";
  EXPECT_EQ(OfferedByZsh("fpath=($PWD $fpath); autoload -Uz compinit && compinit -u -D",
                         {"hotplate sta", "hotplate run mand"}),
            "status\nmandelbrot\n")
      << "already at the first word";
}

TEST_F(CompletionTest, FishParsesIt) {
  const std::string script = folder_.Write("completion.fish", FishCompletion(EmbeddedKernels()));
  EXPECT_THAT(ReadText(script), HasSubstr("-l transpose-a"));
  if (!Installed("fish")) GTEST_SKIP() << "fish is not installed";
  const Ran ran = Shell("fish -n " + script);
  EXPECT_EQ(ran.exit, 0) << ran.output;
}

TEST_F(CompletionTest, ManualPageHasNoTroffWarnings) {
  const std::string page = folder_.Write("hotplate.1", ManualPage());
  EXPECT_THAT(ReadText(page), HasSubstr(".SH EXIT STATUS"));
  if (!Installed("groff")) GTEST_SKIP() << "groff is not installed";
  const Ran ran = Shell("groff -man -ww -Kutf8 -z " + page);
  EXPECT_EQ(ran.exit, 0) << ran.output;
  EXPECT_EQ(ran.output, "");
}

}  // namespace
}  // namespace hotplate::cli
