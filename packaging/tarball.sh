#!/usr/bin/env bash
# Makes build/tarball/deputy-VERSION-linux-ARCHITECTURE.tar.xz: an installation that runs from any folder, on Debian 12
# with the packages that its share/deputy/requirements.txt names. Two runs of one commit give the same bytes; the times in
# it are SOURCE_DATE_EPOCH, that of the commit unless it is set.
#
#   packaging/tarball.sh [--build-dir DIR]      default: configures and builds build/release; DIR is taken as it is
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=build-env.sh
source "$(dirname "${BASH_SOURCE[0]}")/build-env.sh"

build=''
if (($# == 2)) && [[ $1 == --build-dir ]]; then
  build=$(realpath "$2")
elif (($#)); then
  echo "tarball.sh: wrong arguments '$*'; there is: --build-dir DIR" >&2
  exit 2
fi

step "packages"
packaging/install-deps.sh build package
if [[ -z $build ]]; then
  build=$root/build/release
  step "build"
  cmake --preset release
  cmake --build --preset release --parallel "$jobs"
fi

step "tarball"
version=$(sed -n 's|^CMAKE_PROJECT_VERSION:[A-Z]*=||p' "$build/CMakeCache.txt")
name=deputy-$version-linux-$(uname -m)
folder=$root/build/tarball prefix=$root/build/tarball/$name
rm -rf "$folder"
mkdir -p "$folder/control/debian"
umask 022
cmake --install "$build" --prefix "$prefix" >"$folder/install.log"

# As in the packages: the smallest delegate is an example, of which the documents have the source.
rm "$prefix/lib/deputy/plugins/null.so"
mapfile -t binaries < <(find "$prefix/bin" "$prefix/lib" -type f \( -name '*.so*' -o -perm -u+x \))
strip --strip-unneeded "${binaries[@]}"
cmake -DFOLDER="$prefix/lib/deputy/plugins" -P packaging/cmake/DeputyLock.cmake

printf 'Source: deputy\n\nPackage: deputy\nArchitecture: any\n' >"$folder/control/debian/control"
(cd "$folder/control" && dpkg-shlibdeps -O -l"$prefix/lib" --ignore-missing-info "${binaries[@]/#/-e}" 2>"$folder/shlibdeps.log") |
  sed 's/^shlibs:Depends=//; s/ ([^)]*)//g; s/, /\n/g' | sort -u >"$prefix/share/deputy/requirements.txt"
[[ -s $prefix/share/deputy/requirements.txt ]] || { tail "$folder/shlibdeps.log" && exit 1; }

epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
tar --create --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner --format=posix \
  --pax-option=exthdr.name=%d/PaxHeaders/%f,delete=atime,delete=ctime --directory="$folder" "$name" |
  xz --threads=1 >"$folder/$name.tar.xz"
rm -rf "$prefix" "$folder/control"
ls "$folder/$name.tar.xz"
step "done"
