import org.jetbrains.kotlin.gradle.dsl.JvmTarget

plugins {
    kotlin("jvm") version "2.4.20"
    kotlin("plugin.serialization") version "2.4.20" apply false
    `java-library`
    `maven-publish`
}

allprojects {
    group = "dev.mcpkeel"
    version = "0.1.0"
}

val clone = layout.projectDirectory.dir("../..")
val generated = layout.buildDirectory.dir("keel/kotlin")
val natives = layout.buildDirectory.dir("keel/natives")

kotlin {
    explicitApi()
    compilerOptions { jvmTarget = JvmTarget.JVM_17 }
}

sourceSets {
    main {
        kotlin.srcDir(generated)
        resources.srcDir(natives)
    }
}

dependencies {
    api("org.jetbrains.kotlinx:kotlinx-coroutines-core:1.8.0")
    // On Android: implementation("net.java.dev.jna:jna:5.13.0@aar"), which has JNA's own libraries in it.
    implementation("net.java.dev.jna:jna:5.13.0")
}

/** The Rust library of this machine. Other machines' are laid beside it by the names that JNA has for them. */
val library by tasks.registering(Exec::class) {
    workingDir(clone)
    commandLine("cargo", "build", "--release", "-p", "mcp-keel-uniffi", "--target-dir", "target")
}

/** From the static library: what the generator reads does not survive the stripping of the dynamic one. */
val generate by tasks.registering(Exec::class) {
    dependsOn(library)
    workingDir(clone)
    val archive = clone.file("target/release/libmcp_keel_uniffi.a").asFile.path
    commandLine("cargo", "run", "-p", "keel-generate", "--", "uniffi", "kotlin", archive, generated.get().asFile.path)
    outputs.dir(generated)
}

val pack by tasks.registering(Copy::class) {
    dependsOn(library)
    val (os, arch) = System.getProperty("os.name") to System.getProperty("os.arch")
    val system = when {
        os.startsWith("Mac") -> "darwin"
        os.startsWith("Windows") -> "win32"
        else -> "linux"
    }
    val machine = if (arch == "amd64" || arch == "x86_64") "x86-64" else arch
    from(clone.dir("target/release")) { include("libmcp_keel_uniffi.so", "libmcp_keel_uniffi.dylib", "mcp_keel_uniffi.dll") }
    into(natives.map { it.dir("$system-$machine") })
}

tasks.compileKotlin { dependsOn(generate) }
tasks.processResources { dependsOn(pack) }

/** The tests are a program; `-Pservers="python COMMAND -- everything COMMAND -- own COMMAND"` names the servers to talk to. */
val programTest by tasks.registering(JavaExec::class) {
    classpath = sourceSets.test.get().runtimeClasspath
    mainClass = "dev.mcpkeel.Tests"
    args((findProperty("servers") as String?).orEmpty().split(' ').filter { it.isNotEmpty() })
}

publishing {
    publications {
        create<MavenPublication>("maven") { from(components["java"]) }
    }
}
