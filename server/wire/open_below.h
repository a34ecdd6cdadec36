// Opens what a path names below a folder, for callers who must not learn what there is elsewhere: a link that leads out
// of the folder is not followed, so that nothing depends on what it leads to. For openat2, which does this in the
// kernel, many clusters' systems are too old.
#pragma once

#include <string>

#include "kernels/base/descriptor.h"

namespace hotplate::wire {

struct OpenedBelow {
  Descriptor file = Descriptor();  // O_PATH; none: see the others
  bool leads_out = false;          // by a link, or by ".."
  int error = 0;                   // else why it cannot be opened
};

// `root`: canonical. `path`: begins with it. A link is followed if what is written in it, if that is absolute, begins
// with the root too.
OpenedBelow OpenBelow(const std::string& root, const std::string& path);

}  // namespace hotplate::wire
