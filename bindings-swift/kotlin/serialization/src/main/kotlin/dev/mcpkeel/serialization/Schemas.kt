package dev.mcpkeel.serialization

import dev.mcpkeel.JsonObject
import dev.mcpkeel.UsageError
import dev.mcpkeel.json
import dev.mcpkeel.jsonObject
import kotlinx.serialization.ExperimentalSerializationApi
import kotlinx.serialization.SerialInfo
import kotlinx.serialization.descriptors.PolymorphicKind
import kotlinx.serialization.descriptors.PrimitiveKind
import kotlinx.serialization.descriptors.SerialDescriptor
import kotlinx.serialization.descriptors.SerialKind
import kotlinx.serialization.descriptors.StructureKind
import kotlinx.serialization.descriptors.elementDescriptors

/** What a class or a member is for: its `description` in the JSON Schema. */
@OptIn(ExperimentalSerializationApi::class)
@SerialInfo
@Target(AnnotationTarget.CLASS, AnnotationTarget.PROPERTY)
public annotation class Description(val text: String)

/** The JSON Schema of a serializable type. Types that hold themselves, and those that occur often, are definitions. */
internal fun schemaOf(descriptor: SerialDescriptor): JsonObject {
    val schemas = Schemas()
    val root = schemas.of(descriptor)
    val name = root.string("\$ref")?.removePrefix(PREFIX)
    val body = if (name == null) root else schemas.definitions.getValue(name)
    val used = schemas.definitions.filterKeys { "\"$PREFIX$it\"" in schemas.definitions.values.joinToString() + root }
    val rest = if (name == null || "\"$PREFIX$name\"" in schemas.definitions.values.joinToString()) used else used - name
    return if (rest.isEmpty()) body else body + jsonObject("\$defs" to rest)
}

private const val PREFIX = "#/\$defs/"

@OptIn(ExperimentalSerializationApi::class)
private class Schemas {
    val definitions = LinkedHashMap<String, JsonObject>()

    fun of(descriptor: SerialDescriptor): JsonObject {
        val schema = plain(descriptor)
        if (!descriptor.isNullable) return schema
        return jsonObject("anyOf" to listOf(schema, jsonObject("type" to "null")))
    }

    private fun plain(descriptor: SerialDescriptor): JsonObject = when (val kind = descriptor.kind) {
        is PrimitiveKind -> primitive(kind)
        SerialKind.ENUM -> jsonObject("enum" to List(descriptor.elementsCount, descriptor::getElementName))
        StructureKind.LIST -> jsonObject("type" to "array", "items" to of(descriptor.getElementDescriptor(0)))
        StructureKind.MAP -> jsonObject("type" to "object", "additionalProperties" to of(descriptor.getElementDescriptor(1)))
        StructureKind.CLASS, StructureKind.OBJECT ->
            if (descriptor.isInline) of(descriptor.getElementDescriptor(0)) else named(descriptor) { members(descriptor, null) }
        PolymorphicKind.SEALED -> named(descriptor) { choice(descriptor) }
        SerialKind.CONTEXTUAL -> JsonObject.EMPTY
        else -> throw UsageError("there is no JSON Schema for ${descriptor.serialName}")
    }

    private fun primitive(kind: PrimitiveKind) = when (kind) {
        PrimitiveKind.BOOLEAN -> jsonObject("type" to "boolean")
        PrimitiveKind.FLOAT, PrimitiveKind.DOUBLE -> jsonObject("type" to "number")
        PrimitiveKind.CHAR -> jsonObject("type" to "string", "minLength" to 1, "maxLength" to 1)
        PrimitiveKind.STRING -> jsonObject("type" to "string")
        else -> jsonObject("type" to "integer")
    }

    private fun named(descriptor: SerialDescriptor, make: () -> JsonObject): JsonObject {
        val name = descriptor.serialName.removeSuffix("?")
        if (name !in definitions) {
            // Known before its members are: they may mention it.
            definitions[name] = JsonObject.EMPTY
            definitions[name] = make() + jsonObject("description" to text(descriptor.annotations))
        }
        return jsonObject("\$ref" to "$PREFIX$name")
    }

    private fun members(descriptor: SerialDescriptor, kind: String?): JsonObject {
        val members = (0 until descriptor.elementsCount).associate { at ->
            val about = jsonObject("description" to text(descriptor.getElementAnnotations(at)))
            descriptor.getElementName(at) to of(descriptor.getElementDescriptor(at)) + about
        }
        val required = (0 until descriptor.elementsCount).filterNot(descriptor::isElementOptional).map(descriptor::getElementName)
        val discriminator = if (kind == null) emptyMap() else mapOf("type" to jsonObject("const" to kind))
        return jsonObject(
            "type" to "object",
            "properties" to discriminator + members,
            "required" to (discriminator.keys + required).ifEmpty { null },
        )
    }

    /** One of the classes of a sealed type, told apart by the member `type`. */
    private fun choice(descriptor: SerialDescriptor): JsonObject {
        val classes = descriptor.getElementDescriptor(1).elementDescriptors
        return jsonObject("type" to "object", "oneOf" to json(classes.map { members(it, it.serialName) }))
    }

    private fun text(annotations: List<Annotation>) = annotations.filterIsInstance<Description>().firstOrNull()?.text
}
