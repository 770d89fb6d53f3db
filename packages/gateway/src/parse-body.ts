import { parseValue } from "@deltawire/tasks/chats";
import type { GenericSchema, InferOutput } from "valibot";
import { Problem } from "./problem.ts";

/** Returns the body with its fields in the order of the schema, so that the same request is the same text. Throws a Problem. */
export function parseBody<const Schema extends GenericSchema>(
  schema: Schema,
  body: unknown,
): InferOutput<Schema> {
  const parsed = parseValue(schema, body);
  if (parsed.ok) return parsed.value;
  throw invalid(parsed.path, parsed.message);
}

/** A request that is wrong at `param`; "": as a whole. */
export function invalid(param: string, what: string): Problem {
  return new Problem("invalid_request", param === "" ? what : `${param}: ${what}`, {
    param: param === "" ? undefined : param,
  });
}
