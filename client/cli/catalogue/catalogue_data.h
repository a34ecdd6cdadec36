// The first byte of each file that is placed into the program, and the one after its last: the catalogue, and where its
// kernels have been verified.
#pragma once

extern "C" {
extern const char hotplate_catalogue_begin[];
extern const char hotplate_catalogue_end[];
extern const char hotplate_verified_begin[];
extern const char hotplate_verified_end[];
}
