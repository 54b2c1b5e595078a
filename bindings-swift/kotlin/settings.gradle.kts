dependencyResolutionManagement {
    repositories {
        mavenCentral()
    }
}

rootProject.name = "mcp-keel"
include(":serialization")
