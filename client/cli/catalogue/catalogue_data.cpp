// The files, placed into the program as they are. HOTPLATE_CATALOGUE_FILE and HOTPLATE_VERIFIED_FILE are their paths.
#include "client/cli/catalogue/catalogue_data.h"

asm(R"(
  .section .rodata
  .balign 16
  .globl hotplate_catalogue_begin
  .globl hotplate_catalogue_end
  .globl hotplate_verified_begin
  .globl hotplate_verified_end
hotplate_catalogue_begin:
  .incbin ")" HOTPLATE_CATALOGUE_FILE R"("
hotplate_catalogue_end:
  .byte 0
hotplate_verified_begin:
  .incbin ")" HOTPLATE_VERIFIED_FILE R"("
hotplate_verified_end:
  .byte 0
  .previous
)");
