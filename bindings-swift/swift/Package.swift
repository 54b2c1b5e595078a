// swift-tools-version: 6.0
import Foundation
import PackageDescription

// `Generated/` holds the library of the core and what uniffi makes of it; scripts and `cargo xtask` fill it. An XCFramework
// in it, made on a Mac by scripts/xcframework.sh, is taken in place of the plain library.
let generated = Context.packageDirectory + "/Generated"
let hasFramework = FileManager.default.fileExists(atPath: generated + "/KeelFlatFFI.xcframework")

let core: [Target] = [
    hasFramework
        ? .binaryTarget(name: "KeelFlatFFI", path: "Generated/KeelFlatFFI.xcframework")
        : .systemLibrary(name: "KeelFlatFFI", path: "Generated/KeelFlatFFI"),
    // What uniffi generates is not ready for the checks of Swift 6.
    .target(
        name: "KeelFlat", dependencies: ["KeelFlatFFI"], path: "Generated/KeelFlat", swiftSettings: [.swiftLanguageMode(.v5)],
        linkerSettings: hasFramework ? [] : [.linkedLibrary("mcp_keel_uniffi")]),
]

func program(_ name: String, _ folder: String, _ dependencies: [Target.Dependency] = ["MCPKeel"]) -> Target {
    .executableTarget(name: name, dependencies: dependencies, path: folder)
}

let package = Package(
    name: "MCPKeel",
    platforms: [.macOS(.v13), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: [.library(name: "MCPKeel", targets: ["MCPKeel"])],
    targets: core + [
        .target(name: "MCPKeel", dependencies: ["KeelFlat"]),
        program("fixture-server", "Programs/FixtureServer"),
        program("fixture-client", "Programs/FixtureClient"),
        program("corpus-host", "Programs/CorpusHost", ["KeelFlat", "MCPKeel"]),
        program("live-tests", "Programs/LiveTests"),
        program("example-server", "Examples/Server"),
        program("example-client", "Examples/Client"),
        .testTarget(name: "MCPKeelTests", dependencies: ["MCPKeel"]),
    ]
)
