// The jobs of `hotplate up --follow-on`, as far as a client must know of them: when a daemon's own job has ended, the
// next one goes on under its name.
#pragma once

#include "client/lib/endpoint.h"

namespace hotplate::client {

// Whether another job is to bring this daemon back, by the command's note of its allocation. False if unknown.
bool IsFollowed(const FoundRecord& found);

}  // namespace hotplate::client
