import { longMarkdown, longText } from "./long-answer.ts";
import { code, list, math, table } from "./markdown-samples.ts";

/** Markdown that shows what a page or a terminal can draw, if the words ask for some. */
export function showcase(said: string): string | undefined {
  const exact = exactWords(said);
  if (exact !== undefined) return exact;
  const words = said.slice(0, 4000);
  const kilobytes = /\blong markdown (\d+)/i.exec(words)?.[1];
  if (kilobytes !== undefined) return longMarkdown(Number(kilobytes));
  const long = /\blong (\d+)\b/i.exec(words)?.[1];
  if (long !== undefined) return longText(Number(long));
  const asked = parts.filter(({ when }) => when.test(words));
  return asked.length === 0 ? undefined : asked.map(({ text }) => text).join("\n\n");
}

/** What stands in a fenced block after "say exactly": to be said back as it is, whatever it is. */
export function exactWords(said: string): string | undefined {
  const begun = /(?:\bsay exactly\b|原样)[^\n]*\n\s*?^(`{3,}|~{3,})[^\n]*\n/im.exec(said);
  const [before = "", fence = ""] = begun ?? [];
  if (begun === null) return undefined;
  const rest = said.slice(begun.index + before.length);
  const end = new RegExp(`^${fence}${fence.charAt(0)}*[ \\t]*$`, "m").exec(rest);
  return (end === null ? rest : rest.slice(0, end.index)).replace(/\n$/, "");
}

const markdown = `# A demo of Markdown

Some *emphasis*, some **weight**, some \`code\`, and [a link](https://example.com/).

> Whoever quotes should say whom.

${list}

${table}

${code}`;

const parts = [
  { when: /\bmarkdown\b/i, text: markdown },
  { when: /\btables?\b|表格/i, text: `A table, as a demo:\n\n${table}` },
  { when: /\blists?\b|列表/i, text: list },
  { when: /\bcode\b|代码/i, text: `Some code, as a demo:\n\n${code}` },
  { when: /\bmath(?:s|ematics)?\b|\bformulas?\b|数学|公式/i, text: math },
];
