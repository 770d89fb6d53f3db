import { parseValue } from "@deltawire/tasks/chats";
import type { GenericSchema, InferOutput } from "valibot";
import { GatewayError } from "./gateway-error.ts";

/**
 * Validates a request body. Returns its fields in the order of the schema, so that equal requests serialize to the same
 * text. Throws a GatewayError `invalid_request`.
 */
export function parseBody<const Schema extends GenericSchema>(
  schema: Schema,
  body: unknown,
): InferOutput<Schema> {
  const result = parseValue(schema, body);
  if (result.ok) return result.value;
  throw invalidRequest(result.path, result.message);
}

/** `param` is the path of the invalid field, "" for the complete body. */
export function invalidRequest(param: string, problem: string): GatewayError {
  return new GatewayError("invalid_request", param === "" ? problem : `${param}: ${problem}`, {
    param: param === "" ? undefined : param,
  });
}
