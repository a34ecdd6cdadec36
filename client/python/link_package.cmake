# cmake -DFROM=package -DTO=folder -P link_package.cmake: every Python file of FROM, as a link in TO.
file(GLOB files ${FROM}/*.py ${FROM}/*.pyi ${FROM}/py.typed)
foreach(file IN LISTS files)
  get_filename_component(name ${file} NAME)
  file(CREATE_LINK ${file} ${TO}/${name} SYMBOLIC)
endforeach()
