import { defaultJsonLimits, describeJsonLimit, findExceededJsonLimit } from "@deltawire/wire";

/** Maximum size of one message from a server. Messages may contain images in base64. */
export const maxMessageBytes = 16 * 1024 * 1024;
/** Maximum size of a reply that is an error or that the client does not read. Longer ones are truncated. */
export const maxErrorBytes = 64 * 1024;
/** Maximum number of parts in one result. */
export const maxParts = 1000;
/** Maximum length of structured content that is shown as data. Longer content is shown as text. */
export const maxStructuredLength = 1_000_000;
export const maxTools = 1000;
export const maxListPages = 50;
export const maxNameLength = 256;
export const maxDescriptionLength = 10_000;
/** Maximum length of the JSON of one input schema, and of all schemas of a server. */
const maxSchemaLength = 200_000;
export const maxSchemasLength = 4_000_000;
const schemaLimits = { maxDepth: 64, maxValues: 20_000 };

/** Returns an error message if a message is too complex to be parsed, otherwise undefined. */
export function findMessageProblem(json: string): string | undefined {
  const exceededLimit = findExceededJsonLimit(json, defaultJsonLimits);
  return exceededLimit && `the server sent a message that ${describeJsonLimit(exceededLimit)}`;
}

/** Error message for a message that is longer than `maxMessageBytes`. */
export const messageTooLong = `the server sent a message of more than ${maxMessageBytes} bytes`;

/** Error message for a message that cannot be parsed. */
export const messageNotJson = "the server sent a message that is not valid JSON";

/** Returns an error message if a schema is too large to be used, otherwise undefined. */
export function findSchemaProblem(json: string): string | undefined {
  if (json.length > maxSchemaLength)
    return `its schema has ${json.length} characters, more than the limit of ${maxSchemaLength}`;
  const exceededLimit = findExceededJsonLimit(json, schemaLimits);
  return exceededLimit && `its schema ${describeJsonLimit(exceededLimit, schemaLimits)}`;
}

/** Truncates text to `length` characters and appends how many were omitted. */
export function truncateWithCount(text: string, length: number): string {
  return text.length <= length
    ? text
    : `${text.slice(0, length)}… (${text.length - length} more characters)`;
}
