# Writes the lock of a plugin folder: SHA256SUMS with every file in it, as `sha256sum *` does. Plugins that it lists run
# in the application's process (`isolation: auto`).
#
#   cmake -DFOLDER=<folder> -P DeputyLock.cmake
file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/*)
list(REMOVE_ITEM files SHA256SUMS)
list(SORT files)
set(lines "")
foreach(file IN LISTS files)
  file(SHA256 ${FOLDER}/${file} digest)
  string(APPEND lines "${digest}  ${file}\n")
endforeach()
file(WRITE ${FOLDER}/SHA256SUMS "${lines}")
