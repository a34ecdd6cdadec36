// SQLite's door to the lossy disk. Its files have no shared memory: a journal that needed it could not be opened.
#pragma once

namespace hotplate::journal {

void RegisterLossyVfs();

}  // namespace hotplate::journal
