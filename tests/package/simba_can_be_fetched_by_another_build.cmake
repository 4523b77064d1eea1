find_program(git git)
if(NOT git)
  message(STATUS "skipped: there is no git")
  return()
endif()
fresh_folder(folder)
# A repository of the files as they are now, whether this is a clone or not.
set(repository "${folder}/simba")
foreach(entry IN ITEMS CMakeLists.txt cmake include src)
  file(COPY "${source_dir}/${entry}" DESTINATION "${repository}")
endforeach()
set(author -c user.name=simba -c user.email=simba@localhost -c commit.gpgsign=false)
run("${git}" -C "${repository}" init --quiet --initial-branch=main)
run("${git}" -C "${repository}" add --all)
run("${git}" -C "${repository}" ${author} commit --quiet --message "All of it")

function(fetch_and_run target)
  run("${CMAKE_COMMAND}" -S "${sources}/embedded" -B "${folder}/${target}" -G "${generator}"
    -D "CMAKE_CXX_COMPILER=${cxx}" -D "CMAKE_CXX_COMPILER_LAUNCHER=${launcher}"
    -D CMAKE_UNITY_BUILD=ON -D CMAKE_UNITY_BUILD_BATCH_SIZE=12
    -D "CMAKE_CXX_FLAGS=-O0" -D "simba_repository=file://${repository}" ${ARGN})
  run("${CMAKE_COMMAND}" --build "${folder}/${target}" --target ${target})
  run("${folder}/${target}/${target}")
endfunction()

# With all stores, and with one alone.
fetch_and_run(all_consumer)
fetch_and_run(store_consumer -D one_store=ON)
capture(needed objdump -p "${folder}/store_consumer/store_consumer")
refuse_libraries("a consumer of simba::sqlite" "${needed}" libpq libmariadb libhiredis libssl
  libzookeeper libyaml)
