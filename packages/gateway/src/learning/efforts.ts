import { effortLadder } from "@deltawire/wire";

/** How servers say that they do not know an effort, or know of none. */
export const effortForms = [
  /reasoning[._ ]?effort[^\n]{0,160}(?:not support|n't support|unsupported|must be|should be|expected|\binvalid\b|unknown)/i,
  /(?:not support|n't support|unsupported|unknown|\binvalid\b)[^\n]{0,60}reasoning[._ ]?effort/i,
  /invalid (?:reasoning|think) value/i,
  /level "\w+" not supported/i,
  /does(?: not|n't) support thinking/i,
];

/** Whether an effort that was refused tells of the server: it is a word that some server knows, or the server knows none. */
export function isServersMatter(text: string, refused: unknown): boolean {
  return (typeof refused === "string" && effortLadder.includes(refused)) || knowsNone.test(text);
}

const knowsNone =
  /does(?: not|n't) support (?:the )?(?:parameter )?["'`]?(?:thinking|reasoning(?:[._ ]?effort)?)["'`]?(?! (?:of|level|value|["'`:=]))/i;

/**
 * The efforts that a refusal lists as known, in their order: "Supported values are: 'low', 'high'." Undefined where it
 * lists none, or the one that it refuses, or has a word of its own for "as it likes" (Groq's qwen3: none or default),
 * which is what sending no effort means.
 */
export function effortsIn(text: string, refused: string): string[] | undefined {
  // pydantic repeats behind the list what was sent: 'input': 'xhigh'
  const [listed = ""] = knownList.exec(text)?.[1]?.split(/["']input["']/) ?? [];
  const words = new Set(listed.toLowerCase().match(/[a-z]+/g));
  if (words.has("default") || words.has(refused)) return undefined;
  const efforts = effortLadder.filter((effort) => words.has(effort));
  return efforts.length === 0 ? undefined : efforts;
}

const knownList =
  /(?:supported values(?: are)?|expected(?: one of)?|input should be|must be(?: one of)?|one of|valid (?:levels|values)(?: are)?)\b:?([^.\n]{1,160})/i;
