import { createHash } from "node:crypto";
import { chatOperations } from "./chat-openapi.ts";
import { chatSchemas } from "./chat-schemas.ts";
import type { Operation } from "./openapi-parts.ts";
import { pageOperations } from "./page-openapi.ts";
import { routes, type RouteName } from "./routes.ts";
import { taskOperations, taskSchemas } from "./task-openapi.ts";

/** The document as it is served, built at the first request. */
export class OpenApiDocument {
  readonly #version: string;
  #built: { readonly url: string; readonly bytes: Buffer; readonly etag: string } | undefined;

  constructor(version: string) {
    this.#version = version;
  }

  /** For a gateway at this address. */
  at(url: string): { readonly bytes: Buffer; readonly etag: string } {
    if (this.#built?.url === url) return this.#built;
    const bytes = Buffer.from(JSON.stringify(openApi(this.#version, url)));
    const hash = createHash("sha256").update(bytes).digest("base64url").slice(0, 22);
    this.#built = { url, bytes, etag: `"${hash}"` };
    return this.#built;
  }
}

/** The gateway's interface as an OpenAPI 3.1 document. Bodies below `/v1` are OpenAI's, and are described there. */
export function openApi(version: string, url: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const { method, path, name, open, summary } of routes) {
    const operation = operations.get(name);
    const body = operation === undefined ? bodyOf(path) : operation.body;
    paths[path] = {
      ...paths[path],
      [method.toLowerCase()]: {
        operationId: name.replaceAll(" ", "_"),
        summary,
        parameters: [...pathParameters(path), ...(operation?.parameters ?? [])],
        ...(open ? { security: [] } : {}),
        ...(method === "POST" && body !== undefined ? { requestBody: body } : {}),
        responses: {
          ...(operation?.answers ?? {
            "200": { description: "The reply; events where a stream was asked for." },
          }),
          ...(open
            ? {}
            : {
                default: {
                  description: "An error.",
                  content: {
                    "application/json": { schema: { $ref: "#/components/schemas/Error" } },
                  },
                },
              }),
        },
      },
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
    paths,
    components: {
      securitySchemes: { token: { type: "http", scheme: "bearer" } },
      schemas: {
        Error: {
          type: "object",
          required: ["error"],
          properties: {
            error: {
              type: "object",
              required: ["message", "type", "param", "code"],
              properties: {
                message: { type: "string" },
                type: { type: "string" },
                param: { type: ["string", "null"] },
                code: { type: ["string", "null"] },
              },
            },
          },
        },
        ...taskSchemas,
        ...chatSchemas,
      },
    },
  };
}

const operations = new Map<RouteName, Operation>([
  ...taskOperations,
  ...chatOperations,
  ...pageOperations,
]);

function pathParameters(path: string): object[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
}

const multipartPaths = ["/v1/images/edits", "/v1/audio/transcriptions", "/v1/audio/translations"];

function bodyOf(path: string): object {
  const type = multipartPaths.includes(path) ? "multipart/form-data" : "application/json";
  const properties = { model: { type: "string", description: "A name of GET /v1/models." } };
  return {
    required: true,
    content: { [type]: { schema: { type: "object", required: ["model"], properties } } },
  };
}
