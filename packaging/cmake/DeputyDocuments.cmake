# The documents in share/doc/deputy, at the paths that they have in this tree, with the samples that they show; staged in
# the build tree at the same place. Also the target `docs`: the references of the headers, by Doxygen.
find_package(Python3 REQUIRED COMPONENTS Interpreter)

set(DEPUTY_DOCUMENT_DIR ${CMAKE_INSTALL_DATADIR}/doc/deputy)
set(document_stage ${CMAKE_BINARY_DIR}/${DEPUTY_DOCUMENT_DIR})

# Pages and their pictures, the samples with the file that makes their models, the skeleton of a plugin.
set(document_globs tests/samples/* plugins/null/*)
foreach(part configs host plugins sdk)
  list(APPEND document_globs ${part}/*.md ${part}/*.png ${part}/*.svg)
endforeach()
list(TRANSFORM document_globs PREPEND ${PROJECT_SOURCE_DIR}/)
file(GLOB_RECURSE document_files RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${document_globs})
list(APPEND document_files README.md LICENSE tests/integration/onnx_bytes.py)
# The template is installed as such.
list(FILTER document_files EXCLUDE REGEX "^sdk/template/|__pycache__")
set(document_sources ${document_files})
list(TRANSFORM document_sources PREPEND ${PROJECT_SOURCE_DIR}/)

set(document_script ${PROJECT_SOURCE_DIR}/packaging/stage_documents.py)
set(document_stamp ${CMAKE_BINARY_DIR}/documents.staged)
add_custom_command(
  OUTPUT ${document_stamp}
  COMMAND
    ${Python3_EXECUTABLE} ${document_script} --root ${PROJECT_SOURCE_DIR} --target ${document_stage} --place
    ${DEPUTY_DOCUMENT_DIR} --installed host/include=${CMAKE_INSTALL_INCLUDEDIR} --installed
    sdk/include=${CMAKE_INSTALL_INCLUDEDIR} --installed sdk/schema=${CMAKE_INSTALL_DATADIR}/deputy/schema --installed
    sdk/template=${CMAKE_INSTALL_DATADIR}/deputy/template --installed configs=${CMAKE_INSTALL_DATADIR}/deputy/configs
    --installed configs/digits=${CMAKE_INSTALL_DATADIR}/deputy/digits ${document_files}
  COMMAND ${CMAKE_COMMAND} -E touch ${document_stamp}
  DEPENDS ${document_script} ${document_sources}
  COMMENT "staging the documents"
  VERBATIM)
add_custom_target(deputy_documents ALL DEPENDS ${document_stamp})
install(DIRECTORY ${document_stage}/ DESTINATION ${DEPUTY_DOCUMENT_DIR} USE_SOURCE_PERMISSIONS COMPONENT documents)

find_program(DEPUTY_DOXYGEN doxygen)
if(DEPUTY_DOXYGEN)
  add_custom_target(
    docs
    COMMAND ${CMAKE_COMMAND} -E make_directory build/doxygen/sdk build/doxygen/host
    COMMAND ${DEPUTY_DOXYGEN} sdk/docs/Doxyfile
    COMMAND ${DEPUTY_DOXYGEN} host/docs/Doxyfile
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    COMMENT "Doxygen: build/doxygen/sdk/html, build/doxygen/host/html"
    VERBATIM)
endif()
