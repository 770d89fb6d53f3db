import { toJsonSchemaDefs, type ConversionConfig } from "@valibot/to-json-schema";
import type { GenericSchema } from "valibot";
import { componentSchemas, operations } from "./openapi-operations.ts";
import { errorSchema } from "./response-schemas.ts";
import { routes } from "./routes.ts";

/**
 * Returns the OpenAPI 3.1 document of the gateway's API. This module is imported on the first request for
 * it, because nothing else needs the schema converter.
 */
export function buildOpenApiDocument(version: string, url: string): object {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const { method, path, name, isPublic, summary } of routes) {
    const { parameters = [], body, responses } = operations[name];
    paths[path] ??= {};
    paths[path][method.toLowerCase()] = {
      operationId: name.replaceAll(" ", "_"),
      summary,
      parameters: [...buildPathParameters(path), ...parameters],
      ...(isPublic ? { security: [] } : {}),
      ...(body === undefined ? {} : { requestBody: body }),
      responses: isPublic ? responses : { ...responses, default: errorResponse },
    };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Deltawire",
      version,
      description:
        "Connects any client of the Responses, Chat Completions or Messages API to any upstream with one of them.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url }],
    security: [{ token: [] }],
    ...convertSchemas(paths),
  };
}

const errorResponse = {
  description: "An error.",
  content: { "application/json": { schema: errorSchema } },
};

function buildPathParameters(path: string): object[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
}

/** Returns the paths with valibot schemas replaced by JSON Schemas, and the components they refer to. */
function convertSchemas(paths: object): object {
  const componentNames = new Map(
    Object.entries(componentSchemas).map(([name, schema]) => [schema, name]),
  );
  const inlineNames = new Map<GenericSchema, string>();
  replaceSchemas(paths, (schema) => {
    if (!componentNames.has(schema) && !inlineNames.has(schema))
      inlineNames.set(schema, `inline_${inlineNames.size}`);
    return schema;
  });
  // Copies, so that a schema that is also nested in other schemas is inlined there instead of referenced.
  const copies = Object.fromEntries(
    [...inlineNames].map(([schema, name]) => [name, { ...schema }]),
  );
  const schemas = toJsonSchemaDefs({ ...componentSchemas, ...copies }, conversionConfig);
  const schemaEntries = Object.keys(componentSchemas).map((name) => [name, schemas[name]]);
  return {
    paths: replaceSchemas(paths, (schema) => {
      const name = componentNames.get(schema);
      return name === undefined
        ? schemas[inlineNames.get(schema) ?? ""]
        : { $ref: toSchemaRef(name) };
    }),
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas: Object.fromEntries(schemaEntries),
    },
  };
}

const conversionConfig: ConversionConfig = {
  target: "draft-2020-12",
  // JSON Schema cannot express these; the error messages explain them.
  ignoreActions: ["check", "finite", "raw_check"],
  overrideSchema: ({ valibotSchema }) => (valibotSchema.type === "custom" ? {} : undefined),
  overrideRef: ({ referenceId }) => toSchemaRef(referenceId),
};

function toSchemaRef(name: string): string {
  return `#/components/schemas/${name}`;
}

function replaceSchemas(value: unknown, replace: (schema: GenericSchema) => unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if ((value as { kind?: unknown }).kind === "schema") return replace(value as GenericSchema);
  if (Array.isArray(value)) return value.map((item) => replaceSchemas(item, replace));
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name, replaceSchemas(field, replace)]),
  );
}
