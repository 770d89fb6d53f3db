type Schema = Readonly<Record<string, unknown>>;

/** Returns how a value violates a schema of an OpenAPI document. Supports the parts of JSON Schema that ours uses. */
export function findSchemaErrors(
  schemas: Readonly<Record<string, Schema>>,
  schema: Schema,
  value: unknown,
  path = "",
): string[] {
  const faults = (each: Schema, one: unknown, at: string): string[] =>
    findSchemaErrors(schemas, each, one, at);
  const { $ref, type, allOf, anyOf, oneOf } = schema;
  if (typeof $ref === "string") {
    const named = schemas[$ref.replace("#/components/schemas/", "")];
    return named === undefined ? [`${path}: no ${$ref}`] : faults(named, value, path);
  }
  if (Array.isArray(allOf)) return allOf.flatMap((each: Schema) => faults(each, value, path));
  if (Array.isArray(anyOf)) {
    const found = anyOf.map((each: Schema) => faults(each, value, path));
    return found.some(({ length }) => length === 0) ? [] : found.flat();
  }
  if (Array.isArray(oneOf)) {
    const fits = oneOf.filter((each: Schema) => faults(each, value, path).length === 0);
    const { oneOf: _alternatives, ...rest } = schema;
    const fault = `${path}: fits ${fits.length} of ${oneOf.length}`;
    return [...(fits.length === 1 ? [] : [fault]), ...faults(rest, value, path)];
  }
  if ("const" in schema) return value === schema["const"] ? [] : [`${path}: another word`];
  const types = [type ?? []].flat() as string[];
  if (types.length > 0 && !types.some((each) => isOfType(each, value)))
    return [`${path}: no ${types.join(" or ")}`];
  if (Array.isArray(schema["enum"]) && !schema["enum"].includes(value))
    return [`${path}: none of ${schema["enum"].join(", ")}`];
  const { minimum, maximum, exclusiveMinimum, minLength, maxLength, pattern } = schema;
  if (typeof value === "number")
    return value < Number(minimum ?? -Infinity) ||
      value > Number(maximum ?? Infinity) ||
      value <= Number(exclusiveMinimum ?? -Infinity)
      ? [`${path}: out of range`]
      : [];
  if (typeof value === "string")
    return value.length < Number(minLength ?? 0) ||
      value.length > Number(maxLength ?? Infinity) ||
      (typeof pattern === "string" && !new RegExp(pattern).test(value))
      ? [`${path}: has a wrong length or form`]
      : [];
  if (Array.isArray(value)) {
    const items = (schema["items"] ?? {}) as Schema;
    const { minItems, maxItems, uniqueItems } = schema;
    return [
      ...(value.length < Number(minItems ?? 0) || value.length > Number(maxItems ?? Infinity)
        ? [`${path}: has a wrong length`]
        : []),
      ...(uniqueItems === true && new Set(value).size < value.length ? [`${path}: repeats`] : []),
      ...value.flatMap((one, index) => faults(items, one, `${path}[${index}]`)),
    ];
  }
  if (typeof value !== "object" || value === null) return [];
  const properties = (schema["properties"] ?? {}) as Readonly<Record<string, Schema>>;
  const required = (schema["required"] ?? []) as readonly string[];
  const more = schema["additionalProperties"];
  return [
    ...required.filter((name) => !(name in value)).map((name) => `${path}.${name}: is missing`),
    ...Object.entries(value).flatMap(([name, one]) => {
      const own =
        (Object.hasOwn(properties, name) ? properties[name] : undefined) ??
        (typeof more === "object" ? (more as Schema) : undefined);
      if (own !== undefined) return faults(own, one, `${path}.${name}`);
      return more === false ? [`${path}.${name}: unknown`] : [];
    }),
  ];
}

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}
