import { generateMarkdown, generateWords } from "./long-text.ts";
import { sampleCode, sampleList, sampleMath, sampleTable } from "./markdown-samples.ts";

/** Returns sample Markdown if the prompt asks for some. */
export function buildShowcase(prompt: string): string | undefined {
  const exactText = extractExactText(prompt);
  if (exactText !== undefined) return exactText;
  const searchedText = prompt.slice(0, 4000);
  const kilobytes = /\blong markdown (\d+)/i.exec(searchedText)?.[1];
  if (kilobytes !== undefined) return generateMarkdown(Number(kilobytes));
  const wordCount = /\blong (\d+)\b/i.exec(searchedText)?.[1];
  if (wordCount !== undefined) return generateWords(Number(wordCount));
  const requestedParts = showcaseParts.filter(({ pattern }) => pattern.test(searchedText));
  return requestedParts.length === 0
    ? undefined
    : requestedParts.map(({ text }) => text).join("\n\n");
}

/** Returns the content of a fenced block after "say exactly", which is repeated unchanged. */
export function extractExactText(prompt: string): string | undefined {
  const opening = /(?:\bsay exactly\b|原样)[^\n]*\n\s*?^(`{3,}|~{3,})[^\n]*\n/im.exec(prompt);
  const [openingText = "", fence = ""] = opening ?? [];
  if (opening === null) return undefined;
  const rest = prompt.slice(opening.index + openingText.length);
  const end = new RegExp(`^${fence}${fence.charAt(0)}*[ \\t]*$`, "m").exec(rest);
  return (end === null ? rest : rest.slice(0, end.index)).replace(/\n$/, "");
}

const sampleMarkdown = `# A demo of Markdown

Some *italics*, some **bold**, some \`code\`, and [a link](https://example.com/).

> Always name your sources.

${sampleList}

${sampleTable}

${sampleCode}`;

const showcaseParts = [
  { pattern: /\bmarkdown\b/i, text: sampleMarkdown },
  { pattern: /\btables?\b|表格/i, text: `A table, as a demo:\n\n${sampleTable}` },
  { pattern: /\blists?\b|列表/i, text: sampleList },
  { pattern: /\bcode\b|代码/i, text: `Some code, as a demo:\n\n${sampleCode}` },
  { pattern: /\bmath(?:s|ematics)?\b|\bformulas?\b|数学|公式/i, text: sampleMath },
];
