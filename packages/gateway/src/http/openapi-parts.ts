/* What the OpenAPI document is put together from. */

export interface Operation {
  parameters?: object[];
  body?: object;
  answers: Record<string, object>;
}

export type Schema = Record<string, unknown>;

export const text: Schema = { type: "string" };
export const yesOrNo: Schema = { type: "boolean" };
export const integer = (minimum: number): Schema => ({ type: "integer", minimum });
export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
export const words = (...values: string[]): Schema => ({ type: "string", enum: values });
export const listOf = (items: Schema): Schema => ({ type: "array", items });
const json = (schema: Schema): object => ({ "application/json": { schema } });
export const query = (name: string, schema: Schema, description: string): object => ({
  name,
  in: "query",
  schema,
  description,
});
export const header = (name: string, description: string): object => ({
  name,
  in: "header",
  schema: text,
  description,
});
export const bodyOf = (schema: Schema, required = true): object => ({
  required,
  content: json(schema),
});
export const answer = (description: string, schema: Schema): object => ({
  description,
  content: json(schema),
});
export const stream = (description: string): object => ({
  description,
  content: { "text/event-stream": { schema: text } },
});

/** One of several shapes that are told apart by their `type`. */
export function part(type: string, required: Schema, more: Schema = {}): Schema {
  return {
    type: "object",
    required: ["type", ...Object.keys(required)],
    properties: { type: { const: type }, ...required, ...more },
    additionalProperties: false,
  };
}
