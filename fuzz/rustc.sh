#!/usr/bin/env bash
# Stands before rustc (RUSTC_WRAPPER) where fuzz targets are built: only the library and the targets are instrumented.
# Cranelift with instrumentation takes many minutes to build, runs at a fraction of its speed, and what it covers says
# little about PTX.
set -euo pipefail
case " $* " in
*" --crate-name ptxlift "* | *" --crate-name libfuzzer_sys "* | *" fuzz/targets/"* | *" targets/"*) exec "$@" ;;
esac
args=()
while [ $# -gt 0 ]; do
    case "$1" in
    -Cpasses=sancov-module | -Cllvm-args=-sanitizer-coverage-* | -Ccodegen-units=1) ;;
    --cfg) if [ "$2" = fuzzing ]; then shift; else args+=("$1"); fi ;;
    *) args+=("$1") ;;
    esac
    shift
done
exec "${args[@]}"
