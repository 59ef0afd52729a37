# SPDX-License-Identifier: Apache-2.0
# One place for what all targets share. A layer may use only what its DEPS name (docs/DESIGN.md, "Layout"); an include that
# breaks this is found by tests/tidy, a call that breaks it does not link.

find_program(CCACHE ccache)
if(CCACHE)
  set(CCACHE ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(ct_options INTERFACE)
target_include_directories(ct_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(ct_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # The compiler collects its garbage from 1 GB on instead of from 128 MB: an eighth less time for a quarter more memory.
  target_compile_options(ct_options INTERFACE --param=ggc-min-heapsize=1000000)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION MATCHES "^12\\.")
  target_compile_options(ct_options INTERFACE -Werror)  # Debian 12's, which runs the tests: another compiler may have more to say
endif()
# What g++ 12 says about moved variants and replaced text with full optimisation is not so (its bugs 80635, 105651); builds with less of
# it do look.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(ct_options INTERFACE $<$<CONFIG:Release>:-Wno-maybe-uninitialized -Wno-restrict>)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # g++ says what is shadowed, file by file; the rest is libstdc++'s own, attributes of g++'s, and what only some of a template's uses capture.
  target_compile_options(ct_options INTERFACE -Wno-shadow -Wno-deprecated-declarations -Wno-unknown-attributes -Wno-unused-lambda-capture)
endif()
target_compile_definitions(ct_options INTERFACE CHARMTREE_VERSION="${PROJECT_VERSION}")
if(CHARMTREE_SANITIZE)
  target_compile_options(ct_options INTERFACE -fsanitize=${CHARMTREE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(NOT CHARMTREE_FUZZ)
    # Left out: the checks of every pointer's use. AddressSanitizer sees what they would, and they take long to compile; the fuzz
    # preset has them.
    target_compile_options(ct_options INTERFACE -fno-sanitize=null,alignment,vptr,object-size)
  endif()
  target_compile_options(ct_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)  # as above
  target_compile_definitions(ct_options INTERFACE CHARMTREE_SANITIZED)  # g++ and clang say it in different words
  target_link_options(ct_options INTERFACE -fsanitize=${CHARMTREE_SANITIZE})
endif()

# ct_unity(TARGET [FILES]): its files are compiled thirty (or FILES) at once, which read their headers and make their templates once: a
# whole build takes half the time or less.
function(ct_unity target)
  set(files 30)
  if(ARGC GREATER 1)
    set(files ${ARGV1})
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${CHARMTREE_UNITY} UNITY_BUILD_BATCH_SIZE ${files})
endfunction()

# ct_library(NAME FOLDER DEPS...): every .cpp of FOLDER (not below it) as one static library.
function(ct_library name folder)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC ct_options ${ARGN})
  ct_unity(${name})
endfunction()

# ct_folder(NAME FOLDER): every .cpp of FOLDER (not below it) into the library NAME, too.
function(ct_folder name folder)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  target_sources(${name} PRIVATE ${sources})
endfunction()
