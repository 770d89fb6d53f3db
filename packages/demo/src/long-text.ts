import { sampleCode, sampleList, sampleMath, sampleTable } from "./markdown-samples.ts";

const maxWords = 200_000;
const maxKilobytes = 2000;

/** Generates the given number of words, up to the maximum. */
export function generateWords(count: number): string {
  const words = "this is a long answer of the demo model and it goes on word by word until".split(
    " ",
  );
  const length = Math.min(count, maxWords);
  return Array.from({ length }, (_, index) => words[index % words.length] ?? "").join(" ");
}

/** Generates sections of various Markdown elements, with at least the given total length. */
export function generateMarkdown(kilobytes: number): string {
  const targetLength = Math.min(kilobytes, maxKilobytes) * 1000;
  const sections: string[] = [];
  for (let length = 0; length < targetLength;) {
    const section = buildSection(sections.length + 1);
    sections.push(section);
    length += section.length + 2;
  }
  return sections.join("\n\n");
}

function buildSection(number: number): string {
  const words = generateWords(40 + ((number * 37) % 120));
  const samples = [sampleList, sampleTable, sampleCode, sampleMath, sampleQuote];
  return `## Part ${number}

The part *${number}* begins with **${number * number}** and \`n = ${number}\`: ${words}.

${samples[number % samples.length] ?? sampleQuote}`;
}

const sampleQuote = `> Always name your sources.
> 引用时请注明出处。`;
