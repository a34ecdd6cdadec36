#include <cstdio>
#include <cstring>

#include "client/cli/app.h"

int main(int count, char** words) {
  // Scripts ask this often; it needs nothing that the rest prepares.
  if (count == 2 && std::strcmp(words[1], "--version") == 0) {
    std::printf("hotplate %s\n", hotplate::cli::kVersion);
    return 0;
  }
  return hotplate::cli::RunHotplate({words + 1, words + count}, hotplate::cli::StandardConsole(),
                                    hotplate::cli::ProcessEnvironment());
}
