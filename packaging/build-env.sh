# shellcheck shell=bash
# Sourced by the scripts that build: where the project is, how many jobs, and a ccache that hits in any checkout.
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit
# shellcheck disable=SC2034 # for the sourcing script
jobs=${DEPUTY_JOBS:-$(nproc)}
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$root}
export CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-1}
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-time_macros,include_file_mtime,include_file_ctime}

# step "name of the step": prints the time since the start of the script, and the duration of the step before.
step() {
  if [[ -n ${step_name:-} ]]; then printf '== %s took %d s\n' "$step_name" $((SECONDS - step_start)); fi
  step_name=$1 step_start=$SECONDS
  printf '\n== %s [%d:%02d]\n' "$1" $((SECONDS / 60)) $((SECONDS % 60))
}
