// Forked processes whose parent had clients: gRPC, its threads and its locks do not survive a fork.
#pragma once

namespace hotplate::python {

// The error for using a client of the parent after a fork.
inline constexpr char kForked[] =
    "hotplate was in use before this process was forked from another, which it cannot be after it: connect in the "
    "child only, or start processes with multiprocessing's 'spawn' or 'forkserver'";

// Call it before a process makes a client. The first call counts.
void NoteUse();

// Whether clients were in use before the fork that made this process. It cannot have its own then: `connect` refuses.
bool UsedBeforeFork();

}  // namespace hotplate::python
