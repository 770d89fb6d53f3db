import type { IncomingHttpHeaders } from "node:http";
import { pathToFileURL } from "node:url";
import { sharedData } from "../../../test/shared-data.ts";

/** The checker of the shared test data, which is independent of this repository. */
interface Grammar {
  validateStream: (text: string) => GrammarFault[];
  validateMessage: (message: unknown) => GrammarFault[];
  validateError: (error: unknown, status: number) => GrammarFault[];
  validateRequest: (body: object, headers: IncomingHttpHeaders) => GrammarFault[];
}

interface GrammarFault {
  code: string;
  at: unknown;
  text: string;
}

const file = sharedData("messages/grammar.mjs");

/** Returns the faults in a Messages stream; none if `../shared` is missing. */
export function findGrammarStreamFaults(text: string): Promise<string[]> {
  return check(({ validateStream }) => validateStream(text));
}

/** Returns the faults in a complete Messages reply. */
export function findGrammarReplyFaults(body: unknown, status: number): Promise<string[]> {
  return check((grammar) =>
    status < 400 ? grammar.validateMessage(body) : grammar.validateError(body, status),
  );
}

/** Returns the faults in a Messages request. */
export function findGrammarRequestFaults(
  body: object,
  headers: IncomingHttpHeaders,
): Promise<string[]> {
  return check(({ validateRequest }) => validateRequest(body, headers));
}

async function check(findFaults: (grammar: Grammar) => GrammarFault[]): Promise<string[]> {
  if (file.isMissing) return [];
  const grammar = (await import(pathToFileURL(file.path).href)) as Grammar;
  return findFaults(grammar).map(({ code, at, text }) => `${code}@${String(at)} ${text}`);
}
