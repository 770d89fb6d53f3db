/* The routes to attack, from the OpenAPI document that the gateway serves: a new route is attacked without a change here. */

export type Schema = Readonly<Record<string, unknown>>;

export interface Operation {
  method: string;
  /** With `{…}` for parameters. */
  path: string;
  parameters: readonly { name: string; in: string; schema: Schema }[];
  /** Undefined: it has no body. */
  body: { type: string; schema: Schema } | undefined;
  /** True if it may reply with events. */
  isStream: boolean;
}

export interface Api {
  operations: readonly Operation[];
  schemas: Readonly<Record<string, Schema>>;
}

interface Document {
  paths: Record<string, Record<string, DocumentOperation>>;
  components: { schemas: Record<string, Schema> };
}

interface DocumentOperation {
  parameters?: { name: string; in: string; schema?: Schema }[];
  requestBody?: { content: Record<string, { schema?: Schema }> };
  responses: Record<string, { content?: Record<string, unknown> }>;
}

export function parseApi(document: unknown): Api {
  const { paths, components } = document as Document;
  return {
    schemas: components.schemas,
    operations: Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        method: method.toUpperCase(),
        path,
        parameters: (operation.parameters ?? []).map((parameter) => ({
          ...parameter,
          schema: parameter.schema ?? {},
        })),
        body: parseBody(operation),
        isStream: Object.values(operation.responses).some(
          ({ content = {} }) => "text/event-stream" in content,
        ),
      })),
    ),
  };
}

function parseBody({ requestBody }: DocumentOperation): Operation["body"] {
  const [entry] = Object.entries(requestBody?.content ?? {});
  return entry === undefined ? undefined : { type: entry[0], schema: entry[1].schema ?? {} };
}
