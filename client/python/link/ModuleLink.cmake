# hotplate_link_module(TARGET): links hotplate::client into a Python module. With HOTPLATE_STATIC gRPC and what it brings are
# inside, and nothing but PyInit__core is seen from outside: the module needs glibc, libstdc++'s own libgcc_s and nothing
# else, and lives beside the gRPC of other packages. The target's property HOTPLATE_SELF_CONTAINED says whether that is so.
#
# Objects of the system's archives that only a program can hold are compiled again from the distribution's own sources
# (pic_sources.sh: seconds for the sources, 20 s of compiling, once). Where these cannot be had, the module is linked with
# the shared libraries of the system.

set(HOTPLATE_MODULE_LINK ${CMAKE_CURRENT_LIST_DIR})
if(DEFINED ENV{XDG_CACHE_HOME})
  set(cache $ENV{XDG_CACHE_HOME}/hotplate)
else()
  set(cache $ENV{HOME}/.cache/hotplate)
endif()
set(HOTPLATE_SOURCE_CACHE ${cache} CACHE PATH "Where sources of Debian's packages are kept between builds")

# Sets `sources`, and `reason` where there are none to be had. Asked once for a build folder: reading all archives takes
# seconds.
function(hotplate_pic_sources)
  foreach(file IN LISTS HOTPLATE_PIC_SOURCES)
    if(NOT EXISTS "${file}")
      unset(HOTPLATE_PIC_SOURCES CACHE)
      break()
    endif()
  endforeach()
  if(NOT DEFINED CACHE{HOTPLATE_PIC_SOURCES})
    set(names ${GRPC_STATIC_LIBRARIES})
    list(REMOVE_ITEM names dl pthread rt atomic m)
    list(REMOVE_DUPLICATES names)
    message(STATUS "Python module: looking for what of gRPC's archives cannot be in a shared object")
    execute_process(COMMAND ${HOTPLATE_MODULE_LINK}/pic_sources.sh ${HOTPLATE_SOURCE_CACHE} ${CMAKE_CXX_COMPILER} ${names}
      OUTPUT_VARIABLE files ERROR_VARIABLE reason RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE
      ERROR_STRIP_TRAILING_WHITESPACE)
    if(failed)
      set(reason "${reason}" PARENT_SCOPE)
      return()
    endif()
    string(REPLACE "\n" ";" files "${files}")
    set(HOTPLATE_PIC_SOURCES "${files}" CACHE INTERNAL "What is compiled again for the Python module")
  endif()
  set(sources "${HOTPLATE_PIC_SOURCES}" PARENT_SCOPE)
endfunction()

# An object library of them, as the distribution compiled them but for -fPIC.
function(hotplate_pic_objects)
  add_library(hotplate_pic OBJECT ${ARGN})
  set_target_properties(hotplate_pic PROPERTIES UNITY_BUILD OFF CXX_STANDARD 17 EXPORT_COMPILE_COMMANDS OFF)
  # Behind the system's headers, which say how its libraries were configured: only for headers that are not installed.
  set(roots ${ARGN})
  list(TRANSFORM roots REPLACE "/unpacked/.*" "/unpacked")
  list(REMOVE_DUPLICATES roots)
  foreach(root IN LISTS roots)
    target_compile_options(hotplate_pic PRIVATE "SHELL:-idirafter ${root}" "SHELL:-idirafter ${root}/src")
  endforeach()
  target_compile_options(hotplate_pic PRIVATE -O2 -w -UNDEBUG)
endfunction()

function(hotplate_link_module target)
  set_target_properties(${target} PROPERTIES HOTPLATE_SELF_CONTAINED OFF)
  target_link_libraries(${target} PRIVATE hotplate::client hotplate_settings)
  if(NOT HOTPLATE_STATIC)
    return()
  endif()
  set(sources)
  set(reason)
  hotplate_pic_sources()
  if(NOT DEFINED CACHE{HOTPLATE_PIC_SOURCES})
    message(WARNING "The Python module is linked with this system's shared gRPC: it is not self-contained. ${reason}")
    set_target_properties(${target} PROPERTIES HOTPLATE_SHARED_GRPC ON)
    target_link_libraries(${target} PRIVATE ${GRPC_LDFLAGS} OpenSSL::Crypto)
    return()
  endif()
  set_target_properties(${target} PROPERTIES HOTPLATE_SELF_CONTAINED ON)
  if(sources)
    hotplate_pic_objects(${sources})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:hotplate_pic>)
  endif()
  target_sources(${target} PRIVATE ${HOTPLATE_MODULE_LINK}/older_glibc.cpp)
  set_source_files_properties(${HOTPLATE_MODULE_LINK}/older_glibc.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  target_link_options(${target} PRIVATE -Wl,--version-script=${HOTPLATE_MODULE_LINK}/exports.map -Wl,--gc-sections)
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${HOTPLATE_MODULE_LINK}/exports.map)
endfunction()
