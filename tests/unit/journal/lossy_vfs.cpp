#include "tests/unit/journal/lossy_vfs.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <new>
#include <string>

#include "tests/unit/journal/lossy_disk.h"

namespace hotplate::journal {
namespace {

using Lock = std::lock_guard<std::recursive_mutex>;

sqlite3_vfs* Real() { return sqlite3_vfs_find("unix"); }
LossyDisk& TheDisk() { return LossyDisk::Get(); }

struct File {
  sqlite3_file base;
  sqlite3_file* real;  // behind this
  std::string* path;
  std::shared_ptr<LossyDisk::File>* tracked;
  bool syncs_name;  // as SQLite's own does for its logs
};

File* Of(sqlite3_file* file) { return reinterpret_cast<File*>(file); }
sqlite3_file* RealOf(sqlite3_file* file) { return Of(file)->real; }

int CodeOf(int error, int otherwise) {
  if (error == ENOSPC) return SQLITE_FULL;
  if (error == EROFS) return SQLITE_READONLY;
  return otherwise;
}

int Close(sqlite3_file* file) {
  const Lock lock(TheDisk().mutex());
  const int result = RealOf(file)->pMethods->xClose(RealOf(file));
  delete Of(file)->path;
  delete Of(file)->tracked;
  return result;
}

int Read(sqlite3_file* file, void* to, int bytes, sqlite3_int64 offset) {
  return RealOf(file)->pMethods->xRead(RealOf(file), to, bytes, offset);
}

int Write(sqlite3_file* file, const void* from, int bytes, sqlite3_int64 offset) {
  const Lock lock(TheDisk().mutex());
  File& own = *Of(file);
  if (const int error = TheDisk().Operation(*own.path)) return CodeOf(error, SQLITE_IOERR_WRITE);
  if (*own.tracked != nullptr) TheDisk().NoteWrite(**own.tracked, offset, bytes);
  // In two halves, so that a process can end between them.
  const int half = bytes / 2;
  int result = own.real->pMethods->xWrite(own.real, from, half, offset);
  TheDisk().Operation(*own.path);
  if (result == SQLITE_OK) {
    result = own.real->pMethods->xWrite(own.real, static_cast<const char*>(from) + half, bytes - half, offset + half);
  }
  return result;
}

int Truncate(sqlite3_file* file, sqlite3_int64 size) {
  const Lock lock(TheDisk().mutex());
  File& own = *Of(file);
  if (const int error = TheDisk().Operation(*own.path)) return CodeOf(error, SQLITE_IOERR_TRUNCATE);
  if (*own.tracked != nullptr) TheDisk().NoteTruncate(**own.tracked, size);
  return own.real->pMethods->xTruncate(own.real, size);
}

int Sync(sqlite3_file* file, int) {
  const Lock lock(TheDisk().mutex());
  File& own = *Of(file);
  if (const int error = TheDisk().Operation(*own.path)) return CodeOf(error, SQLITE_IOERR_FSYNC);
  if (*own.tracked != nullptr && TheDisk().NoteSync(**own.tracked) != 0) return SQLITE_IOERR_FSYNC;
  if (own.syncs_name) TheDisk().NoteNameSync(*own.path);
  return SQLITE_OK;
}

int FileSize(sqlite3_file* file, sqlite3_int64* size) { return RealOf(file)->pMethods->xFileSize(RealOf(file), size); }
int LockFile(sqlite3_file* file, int level) { return RealOf(file)->pMethods->xLock(RealOf(file), level); }
int UnlockFile(sqlite3_file* file, int level) { return RealOf(file)->pMethods->xUnlock(RealOf(file), level); }
int CheckReserved(sqlite3_file* file, int* out) {
  return RealOf(file)->pMethods->xCheckReservedLock(RealOf(file), out);
}
int Control(sqlite3_file* file, int what, void* argument) {
  // Else the real file writes by itself ahead of what is written here.
  if (what == SQLITE_FCNTL_SIZE_HINT || what == SQLITE_FCNTL_CHUNK_SIZE) return SQLITE_NOTFOUND;
  return RealOf(file)->pMethods->xFileControl(RealOf(file), what, argument);
}
int SectorSize(sqlite3_file* file) { return RealOf(file)->pMethods->xSectorSize(RealOf(file)); }
int Characteristics(sqlite3_file*) { return 0; }  // nothing is atomic, no order is kept

const sqlite3_io_methods kMethods = {
    1,          Close,         Read,    Write,      Truncate,        Sync,    FileSize, LockFile,
    UnlockFile, CheckReserved, Control, SectorSize, Characteristics, nullptr, nullptr,  nullptr,
    nullptr,    nullptr,       nullptr,
};

int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  const Lock lock(TheDisk().mutex());
  File& own = *Of(file);
  own.real = reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(file) + sizeof(File));
  own.base.pMethods = nullptr;
  struct stat facts {};
  const bool is_new = name != nullptr && stat(name, &facts) != 0;
  if (is_new) {
    if (const int error = TheDisk().Operation(name)) return CodeOf(error, SQLITE_CANTOPEN);
  }
  const int result = Real()->xOpen(Real(), name, own.real, flags, out_flags);
  if (result != SQLITE_OK) return result;
  own.path = new std::string(name == nullptr ? "" : name);
  own.tracked = new std::shared_ptr<LossyDisk::File>(name == nullptr ? nullptr : TheDisk().Track(name));
  own.syncs_name = (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_SUPER_JOURNAL)) != 0;
  if (is_new) TheDisk().NoteMade(name);
  own.base.pMethods = &kMethods;
  return SQLITE_OK;
}

int Delete(sqlite3_vfs*, const char* name, int sync_folder) {
  const Lock lock(TheDisk().mutex());
  struct stat facts {};
  if (stat(name, &facts) != 0) return SQLITE_IOERR_DELETE_NOENT;
  if (const int error = TheDisk().Operation(name)) return CodeOf(error, SQLITE_IOERR_DELETE);
  if (!TheDisk().RemoveLocked(name).ok()) return SQLITE_IOERR_DELETE;
  if (sync_folder != 0) TheDisk().NoteNameSync(name);
  return SQLITE_OK;
}

}  // namespace

void RegisterLossyVfs() {
  static sqlite3_vfs* const vfs = [] {
    auto* made = new sqlite3_vfs(*Real());
    made->zName = LossyDisk::kVfs;
    made->szOsFile = static_cast<int>(sizeof(File)) + Real()->szOsFile;
    made->pNext = nullptr;
    made->xOpen = Open;
    made->xDelete = Delete;
    return made;
  }();
  sqlite3_vfs_register(vfs, 0);
}

}  // namespace hotplate::journal
