#!/usr/bin/env bash
# Fills fuzz/corpus from tests/ and writes fuzz/ptx.dict. Shares the main package's build.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo run --locked --release --manifest-path fuzz/Cargo.toml --target-dir target --no-default-features --example seeds
