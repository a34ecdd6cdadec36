# cmake -DFROM=package -DTO=folder -DPROGRAM=hotplate -P link_package.cmake: every Python file of FROM, and the program in
# bin/, as links in TO.
file(GLOB links ${TO}/*.py ${TO}/*.pyi)
foreach(link IN LISTS links)  # of files that are gone
  if(IS_SYMLINK ${link} AND NOT EXISTS ${link})
    file(REMOVE ${link})
  endif()
endforeach()
file(GLOB files ${FROM}/*.py ${FROM}/*.pyi ${FROM}/py.typed)
file(MAKE_DIRECTORY ${TO}/bin)
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME)
  file(CREATE_LINK ${file} ${TO}/${name} SYMBOLIC)
endforeach()
file(CREATE_LINK ${PROGRAM} ${TO}/bin/hotplate SYMBOLIC)
