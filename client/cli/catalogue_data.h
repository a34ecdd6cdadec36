// The first byte of the embedded catalogue file, and the one after its last.
#pragma once

extern "C" {
extern const char hotplate_catalogue_begin[];
extern const char hotplate_catalogue_end[];
}
