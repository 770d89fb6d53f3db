import { defaultJsonLimits, describeJsonLimit, findExceededJsonLimit } from "@deltawire/wire";

/** Of one message of a server; images come in base64. */
export const maxMessageBytes = 16 * 1024 * 1024;
/** Of a reply that is an error, or that nobody reads. */
export const maxErrorBytes = 64 * 1024;
/** Parts of one result. */
export const maxParts = 1000;
/** Characters of structured content that is shown as data; what is longer is shown as text. */
export const maxStructuredLength = 1_000_000;
export const maxTools = 1000;
export const maxListPages = 50;
export const maxNameLength = 256;
export const maxDescriptionLength = 10_000;
/** Characters of the JSON of one input schema, and of all of a server. */
const maxSchemaLength = 200_000;
export const maxSchemasLength = 4_000_000;
const schemaLimits = { maxDepth: 64, maxValues: 20_000 };

/** Says why a message cannot be read, before it is parsed. */
export function messageProblem(json: string): string | undefined {
  const exceeded = findExceededJsonLimit(json, defaultJsonLimits);
  return exceeded && `it sent a message that ${describeJsonLimit(exceeded)}`;
}

/** The problem of a message that is longer than `maxMessageBytes`. */
export const messageTooLong = `it sent a message of more than ${maxMessageBytes} bytes`;

/** The problem of a message that cannot be parsed. */
export const messageNotJson = "it sent a message that is not JSON";

/** Says why a schema is too large to be used. */
export function schemaProblem(json: string): string | undefined {
  if (json.length > maxSchemaLength)
    return `its schema has ${json.length} characters; ${maxSchemaLength} are the most`;
  const exceeded = findExceededJsonLimit(json, schemaLimits);
  return exceeded && `its schema ${describeJsonLimit(exceeded, schemaLimits)}`;
}

/** The first characters of a text, and how many were left out. */
export function shortened(text: string, length: number): string {
  return text.length <= length
    ? text
    : `${text.slice(0, length)}… (${text.length - length} characters more)`;
}
