import { toJsonSchemaDefs, type ConversionConfig } from "@valibot/to-json-schema";
import type { GenericSchema } from "valibot";
import { components, operations } from "./operations.ts";
import { error } from "./reply-schemas.ts";
import { routes } from "./routes.ts";

/**
 * Returns the gateway's API as an OpenAPI 3.1 document. Loaded at the first request for it: the conversion of schemas is
 * needed for nothing else.
 */
export function openApi(version: string, url: string): object {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const { method, path, name, open, summary } of routes) {
    const { parameters = [], body, responses } = operations[name];
    paths[path] ??= {};
    paths[path][method.toLowerCase()] = {
      operationId: name.replaceAll(" ", "_"),
      summary,
      parameters: [...pathParameters(path), ...parameters],
      ...(open ? { security: [] } : {}),
      ...(body === undefined ? {} : { requestBody: body }),
      responses: open ? responses : { ...responses, default: failure },
    };
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Deltawire",
      version,
      description: "Any Responses or Chat client on any Chat or Responses upstream.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url }],
    security: [{ token: [] }],
    ...withJsonSchemas(paths),
  };
}

const failure = {
  description: "An error.",
  content: { "application/json": { schema: error } },
};

function pathParameters(path: string): object[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
}

/** Returns the paths with JSON Schemas in place of ours, and the components that they refer to. */
function withJsonSchemas(paths: object): object {
  const names = new Map(Object.entries(components).map(([name, schema]) => [schema, name]));
  const inline = new Map<GenericSchema, string>();
  replaceSchemas(paths, (schema) => {
    if (!names.has(schema) && !inline.has(schema)) inline.set(schema, `inline_${inline.size}`);
    return schema;
  });
  // Copies: a schema that also stands inside of others has no name there.
  const copies = Object.fromEntries([...inline].map(([schema, name]) => [name, { ...schema }]));
  const schemas = toJsonSchemaDefs({ ...components, ...copies }, conversion);
  const named = Object.keys(components).map((name) => [name, schemas[name]]);
  return {
    paths: replaceSchemas(paths, (schema) => {
      const name = names.get(schema);
      return name === undefined ? schemas[inline.get(schema) ?? ""] : { $ref: addressOf(name) };
    }),
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas: Object.fromEntries(named),
    },
  };
}

const conversion: ConversionConfig = {
  target: "draft-2020-12",
  // What JSON Schema cannot say: messages say it.
  ignoreActions: ["check", "finite", "raw_check"],
  overrideSchema: ({ valibotSchema }) => (valibotSchema.type === "custom" ? {} : undefined),
  overrideRef: ({ referenceId }) => addressOf(referenceId),
};

function addressOf(name: string): string {
  return `#/components/schemas/${name}`;
}

function replaceSchemas(value: unknown, replace: (schema: GenericSchema) => unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if ((value as { kind?: unknown }).kind === "schema") return replace(value as GenericSchema);
  if (Array.isArray(value)) return value.map((one) => replaceSchemas(one, replace));
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, replaceSchemas(one, replace)]),
  );
}
