file(REMOVE_RECURSE "${prefix}")
run("${CMAKE_COMMAND}" --install "${build_dir}" --prefix "${prefix}")
fresh_folder(folder)
run("${CMAKE_COMMAND}" -S "${sources}" -B "${folder}" -G "${generator}"
  -D "CMAKE_CXX_COMPILER=${cxx}" -D "CMAKE_PREFIX_PATH=${prefix}"
  -D CMAKE_FIND_PACKAGE_PREFER_CONFIG=ON)  # as with Conan
run("${CMAKE_COMMAND}" --build "${folder}")
run("${CMAKE_CTEST_COMMAND}" --test-dir "${folder}" --output-on-failure --no-tests=error)

# Who links one store has nothing to do with the libraries of the others.
capture(needed objdump -p "${folder}/consumer")
refuse_libraries("a consumer of simba::memory" "${needed}" libsqlite3 libpq libmariadb libhiredis
  libssl libzookeeper libyaml)
