//! The flat surface of the core for Kotlin and Swift.
