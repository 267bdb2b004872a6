# cmake -DFOLDER=host/cli/page -DOUTPUT=FILE.cpp -P DeputyEmbed.cmake
# Writes a C++ source with the page that `deputy partition --html` fills in: page.html with the style and the scripts in
# their places, as an array of bytes.
set(scripts graph fold layers coordinates boxes canvas panel search main) # in the order in which they are run

file(READ ${FOLDER}/page.html page)
file(READ ${FOLDER}/page.css style)
set(script "")
foreach(name IN LISTS scripts)
  file(READ ${FOLDER}/${name}.js text)
  string(APPEND script "${text}\n")
endforeach()
foreach(text IN ITEMS style script)
  if("${${text}}" MATCHES "</(style|script)|@(STYLE|SCRIPT|DATA)@")
    message(FATAL_ERROR "the ${text} of the page must not contain '${CMAKE_MATCH_0}'")
  endif()
  string(TOUPPER ${text} place)
  string(REPLACE "@${place}@" "${${text}}" page "${page}")
endforeach()

file(WRITE ${OUTPUT}.html "${page}")
file(READ ${OUTPUT}.html bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
file(WRITE ${OUTPUT} "// Made by packaging/cmake/DeputyEmbed.cmake.
#include \"cli/graph/page_template.hpp\"

namespace deputy::cli {

std::string_view PageTemplate() {
  static constexpr char kPage[] = {
${bytes}};
  return {kPage, sizeof kPage};
}

}  // namespace deputy::cli
")
