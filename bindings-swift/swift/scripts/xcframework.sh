#!/bin/sh
# xcframework.sh: makes Generated/KeelFlatFFI.xcframework, with the core for macOS, iOS and its simulator. For a Mac with Xcode
# and rustup. Package.swift takes the framework once it is there; put it into a release to serve it by URL and checksum.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
root=$(cd "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
library=libmcp_keel_uniffi.a
generated=$here/Generated
fat=$target/xcframework

cd "$root"
for triple in aarch64-apple-darwin x86_64-apple-darwin aarch64-apple-ios aarch64-apple-ios-sim x86_64-apple-ios; do
    rustup target add "$triple"
    cargo build --release -p mcp-keel-uniffi --target "$triple"
done

rm -rf "$generated" "$fat"
mkdir -p "$generated/KeelFlat" "$generated/KeelFlatFFI" "$fat/macos" "$fat/simulator"
cargo run -p keel-generate -- uniffi swift "$target/aarch64-apple-darwin/release/$library" "$generated/KeelFlat" "$generated/KeelFlatFFI"
lipo -create "$target/aarch64-apple-darwin/release/$library" "$target/x86_64-apple-darwin/release/$library" \
    -output "$fat/macos/$library"
lipo -create "$target/aarch64-apple-ios-sim/release/$library" "$target/x86_64-apple-ios/release/$library" \
    -output "$fat/simulator/$library"
xcodebuild -create-xcframework \
    -library "$fat/macos/$library" -headers "$generated/KeelFlatFFI" \
    -library "$target/aarch64-apple-ios/release/$library" -headers "$generated/KeelFlatFFI" \
    -library "$fat/simulator/$library" -headers "$generated/KeelFlatFFI" \
    -output "$generated/KeelFlatFFI.xcframework"
