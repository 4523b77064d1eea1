fresh_folder(folder)
run("${CMAKE_COMMAND}" -S "${sources}/embedded" -B "${folder}" -G "${generator}"
  -D "CMAKE_CXX_COMPILER=${cxx}" -D "CMAKE_CXX_COMPILER_LAUNCHER=${launcher}"
  # In few large files, which takes a quarter of the time.
  -D CMAKE_UNITY_BUILD=ON -D CMAKE_UNITY_BUILD_BATCH_SIZE=12
  -D CMAKE_FIND_PACKAGE_PREFER_CONFIG=ON  # as with Conan
  -D "CMAKE_CXX_FLAGS=-O0" -D "simba_dir=${source_dir}")
foreach(target IN ITEMS consumer store_consumer all_consumer)
  run("${CMAKE_COMMAND}" --build "${folder}" --target ${target})
  run("${folder}/${target}")
endforeach()
