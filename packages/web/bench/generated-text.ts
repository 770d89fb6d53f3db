import { generateMarkdown } from "@deltawire/demo";

/** The kind of text in a scripted reply. */
export type TextKind = "mixed" | "code" | "list" | "reasoning" | "arguments" | "prose";

/** `kilobytes` counts thousands of characters. */
export function generateText(kind: TextKind, kilobytes: number): string {
  switch (kind) {
    case "mixed":
      return generateMarkdown(kilobytes);
    case "code":
      return `\`\`\`ts\n${generateLines(kilobytes, generateCodeLine)}\n\`\`\``;
    case "list":
      return generateLines(
        kilobytes,
        (index) => `- **${index}** ${pickSentence(index)} \`n = ${index}\``,
      );
    case "reasoning":
      return generateLines(kilobytes, (index) =>
        index % 6 === 5 ? "" : `${pickSentence(index)} ${pickSentence(index + 3)}`,
      );
    case "arguments":
      return JSON.stringify({
        path: "notes.md",
        content: generateLines(kilobytes, generateCodeLine),
      });
    case "prose":
      return generateLines(kilobytes, (index) =>
        index % 2 === 1 ? "" : `${pickSentence(index)} ${pickSentence(index * 7)}`,
      );
    default:
      return kind satisfies never;
  }
}

/** Generates alternating questions and answers as OpenAI chat messages. */
export function generateChat(itemCount: number): { role: string; content: string }[] {
  const sections = generateMarkdown(40).split(/(?=^## )/m);
  return Array.from({ length: itemCount }, (_, index) =>
    index % 2 === 0
      ? { role: "user", content: `Question ${index / 2 + 1}: ${pickSentence(index)}` }
      : { role: "assistant", content: sections[index % sections.length] ?? "" },
  );
}

function generateLines(kilobytes: number, generateLine: (index: number) => string): string {
  let text = "";
  for (let index = 0; text.length < kilobytes * 1000; index += 1)
    text += `${generateLine(index)}\n`;
  return text;
}

function generateCodeLine(index: number): string {
  const indent = "  ".repeat(index % 4);
  return `${indent}const value${index} = await read(items[${index}], { retries: ${index % 7}, name: "part ${index}" });`;
}

function pickSentence(index: number): string {
  return sentences[index % sentences.length] ?? "";
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
