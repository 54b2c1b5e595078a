import org.jetbrains.kotlin.gradle.dsl.JvmTarget

plugins {
    kotlin("jvm")
    kotlin("plugin.serialization")
    `java-library`
}

kotlin {
    explicitApi()
    compilerOptions { jvmTarget = JvmTarget.JVM_17 }
}

dependencies {
    api(rootProject)
    api("org.jetbrains.kotlinx:kotlinx-serialization-json:1.9.0")
}

val programTest by tasks.registering(JavaExec::class) {
    classpath = sourceSets.test.get().runtimeClasspath
    mainClass = "dev.mcpkeel.serialization.Tests"
}
