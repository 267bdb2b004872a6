# Toolchain file: Debian's cross compiler for aarch64. DEPUTY_SYSROOT, a folder with the libraries of that machine
# (packaging/aarch64.sh makes one), is needed for the host; a plugin that links nothing does without.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)

list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES DEPUTY_SYSROOT)
if(DEPUTY_SYSROOT)
  set(CMAKE_SYSROOT ${DEPUTY_SYSROOT})
  set(CMAKE_FIND_ROOT_PATH ${DEPUTY_SYSROOT})
  set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
  set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
  # The dependencies of the libraries on the link line are in the sysroot too.
  set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,${DEPUTY_SYSROOT}/usr/lib/aarch64-linux-gnu")
  set(CMAKE_SHARED_LINKER_FLAGS_INIT "-Wl,-rpath-link,${DEPUTY_SYSROOT}/usr/lib/aarch64-linux-gnu")
  list(APPEND CMAKE_CROSSCOMPILING_EMULATOR -L ${DEPUTY_SYSROOT})
endif()
