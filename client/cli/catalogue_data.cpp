// The catalogue file, placed into the program as it is. HOTPLATE_CATALOGUE_FILE is the file's path.
#include "client/cli/catalogue_data.h"

asm(R"(
  .section .rodata
  .balign 16
  .globl hotplate_catalogue_begin
  .globl hotplate_catalogue_end
hotplate_catalogue_begin:
  .incbin ")" HOTPLATE_CATALOGUE_FILE R"("
hotplate_catalogue_end:
  .byte 0
  .previous
)");
