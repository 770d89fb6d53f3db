import { longMarkdown } from "@deltawire/demo";

/** What an answer of the bench is made of. */
export type Kind = "mixed" | "code" | "list" | "reasoning" | "arguments" | "talk";

/** So many thousand characters. */
export function textOf(kind: Kind, kilobytes: number): string {
  switch (kind) {
    case "mixed":
      return longMarkdown(kilobytes);
    case "code":
      return `\`\`\`ts\n${lines(kilobytes, codeLine)}\n\`\`\``;
    case "list":
      return lines(kilobytes, (nth) => `- **${nth}** ${sentence(nth)} \`n = ${nth}\``);
    case "reasoning":
      return lines(kilobytes, (nth) =>
        nth % 6 === 5 ? "" : `${sentence(nth)} ${sentence(nth + 3)}`,
      );
    case "arguments":
      return JSON.stringify({ path: "notes.md", content: lines(kilobytes, codeLine) });
    case "talk":
      return lines(kilobytes, (nth) =>
        nth % 2 === 1 ? "" : `${sentence(nth)} ${sentence(nth * 7)}`,
      );
    default:
      return kind satisfies never;
  }
}

/** Questions and answers, one after the other, as OpenAI's wire has them. */
export function longChat(items: number): { role: string; content: string }[] {
  const sections = longMarkdown(40).split(/(?=^## )/m);
  return Array.from({ length: items }, (_, nth) =>
    nth % 2 === 0
      ? { role: "user", content: `Question ${nth / 2 + 1}: ${sentence(nth)}` }
      : { role: "assistant", content: sections[nth % sections.length] ?? "" },
  );
}

function lines(kilobytes: number, line: (nth: number) => string): string {
  let text = "";
  for (let nth = 0; text.length < kilobytes * 1000; nth += 1) text += `${line(nth)}\n`;
  return text;
}

function codeLine(nth: number): string {
  const indent = "  ".repeat(nth % 4);
  return `${indent}const value${nth} = await read(items[${nth}], { retries: ${nth % 7}, name: "part ${nth}" });`;
}

function sentence(nth: number): string {
  return sentences[nth % sentences.length] ?? "";
}

const sentences = [
  "The first thing to look at is what was said last.",
  "A list of words is no plan, and a plan is more than a list.",
  "这里有一些中文，因为很多人会这样写。",
  "Whatever is measured should be measured twice, on a quiet machine.",
  "There are `names` in *some* of the sentences.",
  "If that is not so, then the other way has to be tried, step by step.",
  "It is short.",
];
