# One function per thing that is said more than once.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${CCACHE})
endif()

# What a mistake in memory is kept from: every program and library of ours, plug-ins and the Python module among them,
# lies at an address that nobody knows before (PIE, the static one too), has no table of addresses that can be written
# once it runs, and notices when a buffer of known size on the stack or in a call of libc's is overrun. The latter needs
# optimised code. An instrumented build has checks of its own, and with the stack protector beside AddressSanitizer GCC 12
# lays variables of 64-byte alignment wrongly. tests/hardening reads it back from what was built.
if(NOT HOTPLATE_SANITIZER)
  add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-fstack-protector-strong>"
                      "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-fstack-protector-strong>")
  set(optimised "$<CONFIG:Release,RelWithDebInfo,MinSizeRel>")
  add_compile_options("$<$<AND:$<COMPILE_LANGUAGE:C,CXX>,${optimised}>:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>"
    "$<$<AND:$<COMPILE_LANGUAGE:CUDA>,${optimised}>:-Xcompiler=-U_FORTIFY_SOURCE,-D_FORTIFY_SOURCE=2>")
endif()
add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
# A target with the property HOTPLATE_STATIC_PIE is linked by -static-pie, which none of -pie and -static-libstdc++ may
# stand beside.
set(no_static_pie "$<NOT:$<BOOL:$<TARGET_PROPERTY:HOTPLATE_STATIC_PIE>>>")
add_link_options("$<$<AND:$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>,${no_static_pie}>:-pie>"
                 "$<$<NOT:${no_static_pie}>:-static-pie>")
# Programs look for OpenBLAS in the folder that it was found in, where it is not one of the system's, and nowhere else. A
# path that is to change at installation would get an empty place at its end, which stands for the current folder.
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

# What every target of ours is compiled with. One binary runs on every node of a site: the baseline is x86-64-v2, and
# hot loops are dispatched at run time (kernels/cpu/multiversion.h).
add_library(hotplate_settings INTERFACE)
target_include_directories(hotplate_settings INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
target_compile_options(hotplate_settings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Werror>)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  target_compile_options(hotplate_settings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-march=x86-64-v2>)
endif()
if(CMAKE_UNITY_BUILD)
  # Said of every class whose Impl holds what its own file keeps to itself.
  target_compile_options(hotplate_settings INTERFACE -Wno-subobject-linkage)
endif()
# GCC looks for what it no longer needs from 128 MiB on: a tenth of its time, for files that need ten times as much.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:--param ggc-min-heapsize=524288>")
endif()
if(HOTPLATE_SANITIZER)
  add_compile_options(-fsanitize=${HOTPLATE_SANITIZER} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HOTPLATE_SANITIZER})
  if(HOTPLATE_SANITIZER MATCHES undefined)
    # Asked at every access, and a third of the build's time. AddressSanitizer ends a program that goes through null;
    # alignment is asked about where the elements of arrays are read and written (HOTPLATE_ELEMENT_OPTIONS).
    add_compile_options(-fno-sanitize=null,alignment)
  endif()
  if(HOTPLATE_SANITIZER MATCHES thread)
    # protobuf's and absl's headers lay some classes out differently when they see this (map fields: two counters
    # more), and Debian's libraries were built without it. libstdc++ asks by a name of its own, and needs to know:
    # its shared_ptr ends otherwise in a way that only looks like a race.
    add_compile_options(-U__SANITIZE_THREAD__ -D_GLIBCXX_TSAN=1)
  endif()
  target_compile_definitions(hotplate_settings INTERFACE HOTPLATE_SANITIZED)
  # GCC warns falsely of these in instrumented code, as its manual says.
  target_compile_options(hotplate_settings INTERFACE -Wno-maybe-uninitialized -Wno-restrict)
endif()

# For arithmetic: instrumented and not optimised it would take longer than all else. What else an instrumented
# build holds takes longer to optimise than to run.
set(HOTPLATE_ARITHMETIC_OPTIONS "")
if(HOTPLATE_SANITIZER)
  set(HOTPLATE_ARITHMETIC_OPTIONS -O1)
endif()
# For arithmetic of ours on arrays' elements.
set(HOTPLATE_ELEMENT_OPTIONS ${HOTPLATE_ARITHMETIC_OPTIONS})
if(HOTPLATE_SANITIZER MATCHES undefined)
  list(APPEND HOTPLATE_ELEMENT_OPTIONS -fsanitize=alignment)
endif()

# hotplate_library(NAME SOURCES … [LINK …]): a static library hotplate_NAME with the alias hotplate::NAME. What it may
# include is what it links: the layers of client/docs/how-it-works.md.
function(hotplate_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(hotplate_${name} STATIC ${arg_SOURCES})
  add_library(hotplate::${name} ALIAS hotplate_${name})
  set_target_properties(hotplate_${name} PROPERTIES EXPORT_NAME ${name})
  target_link_libraries(hotplate_${name} PUBLIC ${arg_LINK} PRIVATE $<BUILD_INTERFACE:hotplate_settings>)
  target_include_directories(hotplate_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
endfunction()

# hotplate_program(NAME SOURCES … [LINK …])
function(hotplate_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} hotplate_settings)
endfunction()
