// Processes that were forked from one that had clients: gRPC, its threads and its locks do not survive that.
#pragma once

namespace hotplate::python {

// What an error says to one that wants a client of the process that it was forked from.
inline constexpr char kForked[] =
    "hotplate was in use before this process was forked from another, which it cannot be after it: connect in the "
    "child only, or start processes with multiprocessing's 'spawn' or 'forkserver'";

// Before a process's first client, and again before each: what is noted is the first.
void NoteUse();

// Whether clients were in use before a fork that led to this process. Then it has none of its own: `connect` refuses.
bool UsedBeforeFork();

}  // namespace hotplate::python
