# cmake -DFROM=package -DTO=folder -DPROGRAM=hotplate -P link_package.cmake: every Python file of FROM and its folders, and the
# program in bin/, as links in TO.
file(GLOB_RECURSE links ${TO}/*.py ${TO}/*.pyi)
foreach(link IN LISTS links)  # of files that are gone
  if(IS_SYMLINK ${link} AND NOT EXISTS ${link})
    file(REMOVE ${link})
  endif()
endforeach()
file(GLOB_RECURSE files RELATIVE ${FROM} ${FROM}/*.py ${FROM}/*.pyi ${FROM}/py.typed)
file(MAKE_DIRECTORY ${TO}/bin)
foreach(file IN LISTS files)
  get_filename_component(folder ${TO}/${file} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  file(CREATE_LINK ${FROM}/${file} ${TO}/${file} SYMBOLIC)
endforeach()
file(CREATE_LINK ${PROGRAM} ${TO}/bin/hotplate SYMBOLIC)
