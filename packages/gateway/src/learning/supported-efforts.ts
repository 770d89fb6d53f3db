import { reasoningEfforts } from "@deltawire/wire";

/** Match errors about an unsupported reasoning effort, and errors of servers that support no reasoning effort at all. */
export const effortErrorPatterns = [
  /reasoning[._ ]?effort[^\n]{0,160}(?:not support|n't support|unsupported|must be|should be|expected|\binvalid\b|unknown)/i,
  /(?:not support|n't support|unsupported|unknown|\binvalid\b)[^\n]{0,60}reasoning[._ ]?effort/i,
  /invalid (?:reasoning|think) value/i,
  /level "\w+" not supported/i,
  /does(?: not|n't) support thinking/i,
];

/**
 * True if the server does not support this effort or any effort. False if `rejected` is not a known effort, which is a mistake of
 * the client.
 */
export function isEffortUnsupportedByServer(text: string, rejected: unknown): boolean {
  return (
    (typeof rejected === "string" && reasoningEfforts.includes(rejected)) ||
    noEffortPattern.test(text)
  );
}

const noEffortPattern =
  /does(?: not|n't) support (?:the )?(?:parameter )?["'`]?(?:thinking|reasoning(?:[._ ]?effort)?)["'`]?(?! (?:of|level|value|["'`:=]))/i;

/**
 * Returns the efforts that an error lists as supported, lowest first: "Supported values are: 'low', 'high'." Returns
 * undefined if it lists none, the rejected effort, or "default" (Groq's qwen3: none or default), which means the same
 * as sending no effort.
 */
export function parseSupportedEfforts(text: string, rejected: string): string[] | undefined {
  // pydantic quotes the rejected value after the list: 'input': 'xhigh'
  const [listText = ""] = supportedListPattern.exec(text)?.[1]?.split(/["']input["']/) ?? [];
  const tokens = new Set(listText.toLowerCase().match(/[a-z]+/g));
  if (tokens.has("default") || tokens.has(rejected)) return undefined;
  const efforts = reasoningEfforts.filter((effort) => tokens.has(effort));
  return efforts.length === 0 ? undefined : efforts;
}

const supportedListPattern =
  /(?:supported values(?: are)?|expected(?: one of)?|input should be|must be(?: one of)?|one of|valid (?:levels|values)(?: are)?)\b:?([^.\n]{1,160})/i;
