# How the host is built: language, warnings, sanitizers, the layout of the build tree (the same as the installed one, so
# that everything finds its neighbours in both), and deputy_host_library(), one call per folder of host/.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(DEPUTY_PRIVATE_DIR ${CMAKE_INSTALL_LIBDIR}/deputy) # the value of `$deputy` in the YAML
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR})
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/archive)

# GCC 12 reports the empty half of a std::optional as an uninitialized variable (gcc.gnu.org/PR80635), and takes the
# sources of a batch for headers, in which types of an unnamed namespace would be a mistake.
set(DEPUTY_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
                    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized> $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>
                    $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)
# Not with tests, of which each program would optimize the whole host when it is linked.
if(DEPUTY_LINK_TIME_OPTIMIZATION)
  if(DEPUTY_BUILD_TESTS)
    message(FATAL_ERROR "DEPUTY_LINK_TIME_OPTIMIZATION needs DEPUTY_BUILD_TESTS=OFF")
  endif()
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
endif()
if(DEPUTY_SANITIZE)
  # Null pointers and foreign objects fault by themselves or under AddressSanitizer; these checks take long to compile.
  set(DEPUTY_SANITIZER_OPTIONS -fsanitize=${DEPUTY_SANITIZE} -fno-sanitize=null,object-size,vptr
                               -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_compile_options(${DEPUTY_SANITIZER_OPTIONS})
  add_link_options(-fsanitize=${DEPUTY_SANITIZE})
endif()

# Sources of a target are compiled together in batches; one that has options of its own is not. The preset `clang` goes
# without, so that each source is known to include what it uses.
set(CMAKE_UNITY_BUILD ON CACHE BOOL "Compile the sources of a target in batches")
set(CMAKE_UNITY_BUILD_BATCH_SIZE 16 CACHE STRING "Sources in a batch")

# deputy_host_library(NAME <folder with / as _> [DEPENDS folder...] [LINK library...])
# A static library of all sources directly in the folder; DEPENDS are the floors below that it uses.
function(deputy_host_library name)
  cmake_parse_arguments(ARG "" "DIRECTORY" "DEPENDS;LINK;LINK_PUBLIC" ${ARGN})
  if(NOT ARG_DIRECTORY)
    set(ARG_DIRECTORY ${name})
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_DIRECTORY}/*.cpp)
  file(GLOB subfolder_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_DIRECTORY}/inference/*.cpp
       ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_DIRECTORY}/upgrade/*.cpp ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_DIRECTORY}/ops/*.cpp
       ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_DIRECTORY}/passes/*.cpp
       ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_DIRECTORY}/checks/*.cpp
       ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_DIRECTORY}/discovery/*.cpp
       ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_DIRECTORY}/proxy/*.cpp)
  add_library(deputy_${name} STATIC ${sources} ${subfolder_sources})
  target_include_directories(
    deputy_${name} PUBLIC ${PROJECT_SOURCE_DIR}/host ${PROJECT_SOURCE_DIR}/host/include ${PROJECT_SOURCE_DIR}/sdk
                          ${PROJECT_SOURCE_DIR}/sdk/include)
  # Here the functions of the C++ API have their bodies; in programs they are those of the C API.
  target_compile_definitions(deputy_${name} PUBLIC DEPUTY_BUILDS_LIBRARY)
  # Functions that a program does not need stay out of it (--gc-sections). Nothing asks for types at run time; the names of
  # those of all kernels would be a hundredth of the library.
  target_compile_options(deputy_${name} PRIVATE ${DEPUTY_WARNINGS} -ffunction-sections -fno-rtti)
  list(TRANSFORM ARG_DEPENDS PREPEND deputy_)
  target_link_libraries(deputy_${name} PUBLIC ${ARG_DEPENDS} ${ARG_LINK_PUBLIC} PRIVATE ${ARG_LINK})
endfunction()

# deputy_flatbuffer(<target> <schema.fbs>): generates <schema>_generated.h for the target, in the build tree.
function(deputy_flatbuffer target schema)
  get_filename_component(stem ${schema} NAME_WE)
  set(directory ${CMAKE_BINARY_DIR}/generated)
  set(header ${directory}/${stem}_generated.h)
  find_program(DEPUTY_FLATC flatc REQUIRED)
  add_custom_command(
    OUTPUT ${header}
    COMMAND ${DEPUTY_FLATC} --cpp -I ${PROJECT_SOURCE_DIR}/sdk/schema -o ${directory} ${schema}
    DEPENDS ${schema}
    COMMENT "flatc ${stem}.fbs")
  add_custom_target(${target}_${stem}_fbs DEPENDS ${header})
  add_dependencies(${target} ${target}_${stem}_fbs)
  target_include_directories(${target} SYSTEM PUBLIC ${directory})
endfunction()
