// bench_call_peer SERVER BYTES: the C++ client's side of tests/bench/python/run.py, which says on standard input what
// to do next and is told the figure, a line each: "calls N" (the median in microseconds), "pipelined JOBS WINDOW"
// (jobs/s), "upload", "download", "download_into_new" (GB/s, of BYTES).
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <sstream>

#include "tests/bench/hotplate_calls.h"
#include "tests/bench/paired.h"

int main(int argc, char** argv) {
  using namespace hotplate::bench;
  if (argc != 3) {
    std::fprintf(stderr, "usage: bench_call_peer SERVER BYTES\n");
    return 2;
  }
  hotplate::client::Client client = Connect(argv[1]);
  SmallestJob job(client);
  std::optional<Bulk> bulk;  // made when it is asked for: it is large
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string what;
    int count = 0, window = 0;
    words >> what >> count >> window;
    if (!bulk && what.find("load") != std::string::npos) bulk.emplace(client, std::strtoull(argv[2], nullptr, 10));
    double figure = 0;
    if (what == "calls" && count > 0) {
      figure = MicrosecondsOf(count, [&] { job.OnTheStream(); });
    } else if (what == "pipelined" && count > 0 && window > 0) {
      figure = job.PipelinedPerSecond(count, window);
    } else if (what == "upload") {
      figure = bulk->Upload();
    } else if (what == "download") {
      figure = bulk->Download();
    } else if (what == "download_into_new") {
      figure = bulk->DownloadIntoNew();
    } else {
      std::fprintf(stderr, "bench_call_peer: what is \"%s\"?\n", line.c_str());
      return 2;
    }
    std::cout << figure << std::endl;
  }
  return 0;
}
