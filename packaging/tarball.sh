#!/usr/bin/env bash
# Makes build/tarball/deputy-VERSION-ARCHITECTURE.tar.gz: an installation that runs from any folder, on Debian 12 with the
# packages that its share/deputy/requirements.txt names.
#
#   packaging/tarball.sh [--build-dir DIR]      default: configures and builds build/release; DIR is taken as it is
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=build-env.sh
source "$(dirname "${BASH_SOURCE[0]}")/build-env.sh"

step "packages"
packaging/install-deps.sh build package
if [[ ${1:-} == --build-dir ]]; then
  build=$(realpath "$2")
else
  build=$root/build/release
  step "build"
  cmake --preset release
  cmake --build --preset release --parallel "$jobs"
fi

step "tarball"
version=$(sed -n 's|^CMAKE_PROJECT_VERSION:[A-Z]*=||p' "$build/CMakeCache.txt")
name=deputy-$version-$(uname -m)
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

tar --create --gzip --sort=name --owner=0 --group=0 --numeric-owner --directory="$folder" --file="$folder/$name.tar.gz" "$name"
rm -rf "$prefix" "$folder/control"
ls "$folder/$name.tar.gz"
step "done"
