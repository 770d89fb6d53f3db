import type { ContextSnippet } from "../chat-types.ts";

/** Formats a context snippet as text, for formats that have no field for it. */
export function formatContext({ kind, title, url, text }: ContextSnippet): string {
  const urlAttribute = url === undefined ? "" : ` url=${JSON.stringify(url)}`;
  return `<context kind="${kind}" title=${JSON.stringify(title)}${urlAttribute}>\n${text}\n</context>`;
}

/** Parses the output of `formatContext`. Undefined for any other text. */
export function parseContext(source: string): ContextSnippet | undefined {
  const match = contextPattern.exec(source);
  if (match === null) return undefined;
  const [, kind = "", title = "", url, text = ""] = match;
  const snippet: ContextSnippet = {
    kind: kind as ContextSnippet["kind"],
    title: parseJsonString(title),
    text,
    ...(url === undefined ? {} : { url: parseJsonString(url) }),
  };
  // Other spellings, such as "\u0041" for A, were not written by `formatContext`: they are the user's own text.
  return formatContext(snippet) === source ? snippet : undefined;
}

const quotedPattern = String.raw`"(?:[^"\\\n]|\\.)*"`;
const contextPattern = new RegExp(
  `^<context kind="(file|selection|page|text)" title=(${quotedPattern})(?: url=(${quotedPattern}))?>\n([^]*)\n</context>$`,
);

function parseJsonString(json: string): string {
  try {
    return String(JSON.parse(json));
  } catch {
    return "";
  }
}
