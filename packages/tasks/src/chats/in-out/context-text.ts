import type { ContextSnippet } from "../shapes.ts";

/** A piece of context as one text, where a format has no place of its own for it. */
export function contextText({ kind, title, url, text }: ContextSnippet): string {
  const from = url === undefined ? "" : ` url=${JSON.stringify(url)}`;
  return `<context kind="${kind}" title=${JSON.stringify(title)}${from}>\n${text}\n</context>`;
}

/** What `contextText` wrote; undefined for any other text. */
export function contextOfText(whole: string): ContextSnippet | undefined {
  const match = form.exec(whole);
  if (match === null) return undefined;
  const [, kind = "", title = "", url, text = ""] = match;
  const snippet: ContextSnippet = {
    kind: kind as ContextSnippet["kind"],
    title: unquoted(title),
    text,
    ...(url === undefined ? {} : { url: unquoted(url) }),
  };
  // "\u0041" is an A that we would not have written so: then it is somebody's words.
  return contextText(snippet) === whole ? snippet : undefined;
}

const quoted = String.raw`"(?:[^"\\\n]|\\.)*"`;
const form = new RegExp(
  `^<context kind="(file|selection|page|text)" title=(${quoted})(?: url=(${quoted}))?>\n([^]*)\n</context>$`,
);

function unquoted(json: string): string {
  try {
    return String(JSON.parse(json));
  } catch {
    return "";
  }
}
