# deputy_add_delegate(<name>
#   SOURCES <file>...             sources; one of them holds DEPUTY_EXPORT_DELEGATE
#   [ID <id>]                     of the plugin, reverse domain ("com.example.npu"); default: <name>
#   [VERSION <version>]           of the plugin; default: PROJECT_VERSION
#   [VENDOR <text>]
#   [DELEGATES <id>...]           as exported; default: <name>
#   [LINK <library>...] [DEFINES <NAME[=value]>...]
#   [RUNTIME_FILES <file>...]     vendor libraries and firmware that must travel with the plugin; copied beside it;
#                                 relative to the current source directory
#   [ENVIRONMENT <NAME=VALUE>...] wanted in the host's environment before the plugin is loaded
#   [CPU <feature>...]            CPU features needed anywhere in the code, as in /proc/cpuinfo
#   [COMPUTES float16|bfloat16]   the narrowest float type in which values are computed: results are compared accordingly
#   [DEVICES <name>...]           files of the accelerator's driver below /dev, wildcards allowed ("nvidia*"): a worker
#                                 process in a sandbox opens no others
#   [OPENS <library>...]          other vendors' libraries that it opens, such as libonnxruntime.so.1: hosts isolate and
#                                 verify it as if no lock listed it, and 'deputy doctor' tells where they are
#   [OUTPUT_DIRECTORY <dir>])     default: CMAKE_LIBRARY_OUTPUT_DIRECTORY, else the current binary directory
#
# Makes the module <name>.so with hidden visibility, one exported symbol and the manifest note. Callable from every folder
# of a project in which find_package(DeputySDK) was called anywhere before.

# Adds to Deputy::SDK what its C++ layer needs, once: FlatBuffers and code made with its compiler. `problem` receives why
# that cannot be done; "" where it is done.
function(_deputy_sdk_add_cxx problem)
  set(${problem} "" PARENT_SCOPE)
  get_target_property(done Deputy::SDK DEPUTY_HAS_CXX)
  if(done)
    return()
  endif()
  # The tools and headers of the machine that builds serve cross-builds too.
  find_program(DeputySDK_FLATC flatc NO_CMAKE_FIND_ROOT_PATH)
  find_path(DeputySDK_FLATBUFFERS_INCLUDE_DIR flatbuffers/flatbuffers.h HINTS /usr/include NO_CMAKE_FIND_ROOT_PATH)
  if(NOT DeputySDK_FLATC OR NOT DeputySDK_FLATBUFFERS_INCLUDE_DIR)
    set(${problem}
        "DeputySDK needs flatc and FlatBuffers' headers for C++ (Debian: flatbuffers-compiler, libflatbuffers-dev); found flatc: ${DeputySDK_FLATC}, headers: ${DeputySDK_FLATBUFFERS_INCLUDE_DIR}"
        PARENT_SCOPE)
    return()
  endif()
  get_target_property(data_dir Deputy::SDK DEPUTY_DATA_DIR)
  # Only flatbuffers/ is taken from its folder: the whole of /usr/include would mix into a cross compiler's own headers.
  set(made ${CMAKE_BINARY_DIR}/DeputySDK)
  file(COPY ${DeputySDK_FLATBUFFERS_INCLUDE_DIR}/flatbuffers DESTINATION ${made}/include)
  execute_process(COMMAND ${DeputySDK_FLATC} --cpp -o ${made}/include ${data_dir}/schema/primitive.fbs
                  RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed)
    set(${problem} "${DeputySDK_FLATC} failed on primitive.fbs: ${output}" PARENT_SCOPE)
    return()
  endif()
  # Configure again when the installed schema changes.
  set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${data_dir}/schema/primitive.fbs)
  set_property(TARGET Deputy::SDK APPEND PROPERTY INTERFACE_INCLUDE_DIRECTORIES ${data_dir} ${made}/include)
  set_property(TARGET Deputy::SDK PROPERTY DEPUTY_HAS_CXX TRUE)
endfunction()

function(deputy_add_delegate name)
  set(one ID VERSION VENDOR OUTPUT_DIRECTORY COMPUTES)
  set(many SOURCES DELEGATES LINK DEFINES RUNTIME_FILES ENVIRONMENT CPU DEVICES OPENS)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "${one}" "${many}")
  if(ARG_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "deputy_add_delegate(${name}): unknown arguments: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT ARG_SOURCES)
    message(FATAL_ERROR "deputy_add_delegate(${name}): SOURCES are missing")
  endif()
  if(NOT ARG_ID)
    set(ARG_ID ${name})
  endif()
  if(NOT ARG_VERSION)
    set(ARG_VERSION ${PROJECT_VERSION})
  endif()
  if(NOT ARG_VERSION)
    set(ARG_VERSION 0)
  endif()
  if(ARG_COMPUTES AND NOT ARG_COMPUTES MATCHES "^(float32|float16|bfloat16)$")
    message(FATAL_ERROR "deputy_add_delegate(${name}): COMPUTES is float32, float16 or bfloat16: ${ARG_COMPUTES}")
  endif()
  if(NOT TARGET Deputy::SDK)
    message(FATAL_ERROR "deputy_add_delegate(${name}): call find_package(DeputySDK) first")
  endif()
  # The languages of the plugin, not those of the project: one in C needs neither FlatBuffers nor a C++ compiler.
  set(is_cxx FALSE)
  foreach(source IN LISTS ARG_SOURCES)
    if(source MATCHES "\\.(cc|cpp|cxx|c\\+\\+|C|CPP|cppm|ixx)$")
      set(is_cxx TRUE)
    endif()
  endforeach()
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT C IN_LIST languages)
    set(is_cxx TRUE)
  endif()
  if(is_cxx)
    _deputy_sdk_add_cxx(problem)
    if(problem)
      message(FATAL_ERROR "deputy_add_delegate(${name}): ${problem}")
    endif()
  endif()
  if(NOT ARG_DELEGATES)
    set(ARG_DELEGATES ${name})
  endif()
  if(NOT ARG_OUTPUT_DIRECTORY)
    set(ARG_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
  endif()
  if(NOT ARG_OUTPUT_DIRECTORY)
    set(ARG_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  endif()

  set(files "")
  set(runtime_files "")
  foreach(file IN LISTS ARG_RUNTIME_FILES)
    if(file MATCHES "\\$<")
      message(FATAL_ERROR "deputy_add_delegate(${name}): RUNTIME_FILES are paths, since the note names them: ${file}")
    endif()
    cmake_path(GET file FILENAME file_name)
    list(APPEND files ${file_name})
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    list(APPEND runtime_files ${file})
  endforeach()
  _deputy_note_lines(lines "id=${ARG_ID}" "version=${ARG_VERSION}")
  foreach(key_list IN ITEMS delegates:ARG_DELEGATES cpu:ARG_CPU files:files devices:ARG_DEVICES computes:ARG_COMPUTES
                   opens:ARG_OPENS)
    string(REPLACE ":" ";" key_list ${key_list})
    list(GET key_list 0 key)
    list(GET key_list 1 variable)
    if(${variable})
      list(JOIN ${variable} "," joined)
      _deputy_note_lines(lines "${key}=${joined}")
    endif()
  endforeach()
  foreach(wish IN LISTS ARG_ENVIRONMENT)
    _deputy_note_lines(lines "env=${wish}")
  endforeach()
  set(DEPUTY_NOTE_PLUGIN ${name})
  set(DEPUTY_NOTE_LINES ${lines})
  # In the plugin's language: the manifest alone does not require another compiler.
  if(is_cxx)
    set(note ${CMAKE_CURRENT_BINARY_DIR}/${name}_note.cpp)
  else()
    set(note ${CMAKE_CURRENT_BINARY_DIR}/${name}_note.c)
  endif()
  # The folder of this file: a variable would be known in the scope of find_package alone.
  set(package_dir ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  configure_file(${package_dir}/note.cpp.in ${note} @ONLY)
  # It has the name of its object, by which the linker keeps it.
  set_source_files_properties(${note} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)

  add_library(${name} MODULE ${ARG_SOURCES} ${note})
  set_target_properties(
    ${name}
    PROPERTIES PREFIX ""
               SUFFIX ".so"
               C_VISIBILITY_PRESET hidden
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               POSITION_INDEPENDENT_CODE ON
               LIBRARY_OUTPUT_DIRECTORY ${ARG_OUTPUT_DIRECTORY}
               BUILD_RPATH "$ORIGIN"
               INSTALL_RPATH "$ORIGIN"
               LINK_DEPENDS ${package_dir}/exports.map)
  if(is_cxx)
    target_compile_features(${name} PRIVATE cxx_std_17)
  endif()
  target_compile_definitions(
    ${name} PRIVATE ${ARG_DEFINES} DEPUTY_PLUGIN_ID="${ARG_ID}" DEPUTY_PLUGIN_VERSION="${ARG_VERSION}"
                    DEPUTY_PLUGIN_VENDOR="${ARG_VENDOR}")
  target_link_libraries(${name} PRIVATE Deputy::SDK ${ARG_LINK})
  # Loaded once and never unloaded (nodelete): static destructors and threads make unloading unsafe.
  target_link_options(
    ${name} PRIVATE "LINKER:--version-script=${package_dir}/exports.map" "LINKER:--exclude-libs,ALL"
    "LINKER:-z,now" "LINKER:-z,relro" "LINKER:-z,nodelete")
  # clang's sanitizers live in the executable, so that their symbols are legitimately undefined in a plugin.
  get_directory_property(flags COMPILE_OPTIONS)
  if(NOT ("${CMAKE_C_COMPILER_ID}${CMAKE_CXX_COMPILER_ID}" MATCHES "Clang"
          AND "${flags} ${CMAKE_C_FLAGS} ${CMAKE_CXX_FLAGS}" MATCHES "-fsanitize"))
    target_link_options(${name} PRIVATE "LINKER:-z,defs")
  endif()
  foreach(file IN LISTS runtime_files)
    add_custom_command(TARGET ${name} POST_BUILD COMMAND ${CMAKE_COMMAND} -E copy_if_different ${file}
                                                         $<TARGET_FILE_DIR:${name}> VERBATIM)
  endforeach()
endfunction()

# Appends each line to `variable` as a C string literal.
function(_deputy_note_lines variable)
  set(lines "${${variable}}")
  foreach(line IN LISTS ARGN)
    if(line MATCHES "\n")
      message(FATAL_ERROR "deputy_add_delegate: a line of the manifest may not hold a line break: ${line}")
    endif()
    string(REPLACE "\\" "\\\\" line "${line}")
    string(REPLACE "\"" "\\\"" line "${line}")
    string(APPEND lines "\n    \"${line}\\n\"")
  endforeach()
  set(${variable} "${lines}" PARENT_SCOPE)
endfunction()
