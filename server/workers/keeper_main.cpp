// hotplate-keeper: what a process becomes that a warm Python has forked for a script (python/hotplate_worker.py).
//   usage: hotplate-keeper CONTROL-SOCKET PROGRAM-PID PARENT-PID MEMORY-BYTES
#include <cstdio>
#include <cstdlib>

#include "server/workers/keeper.h"

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("hotplate-keeper is started by hotplated\n", stderr);
    return 2;
  }
  hotplate::server::KeepStarted(std::atoi(argv[2]), std::atoi(argv[3]), std::strtoull(argv[4], nullptr, 10),
                                hotplate::Descriptor(std::atoi(argv[1])));
}
