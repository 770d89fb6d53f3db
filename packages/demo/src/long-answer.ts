import { code, list, math, table } from "./markdown-samples.ts";

const mostWords = 200_000;
const mostKilobytes = 2000;

/** As many words as asked for. */
export function longText(count: number): string {
  const words = "this is a long answer of the demo model and it goes on word by word until".split(
    " ",
  );
  const length = Math.min(count, mostWords);
  return Array.from({ length }, (_, at) => words[at % words.length] ?? "").join(" ");
}

/** Sections with a little of everything, until there are so many thousand characters. */
export function longMarkdown(kilobytes: number): string {
  const enough = Math.min(kilobytes, mostKilobytes) * 1000;
  const sections: string[] = [];
  for (let length = 0; length < enough;) {
    const section = sectionOf(sections.length + 1);
    sections.push(section);
    length += section.length + 2;
  }
  return sections.join("\n\n");
}

function sectionOf(number: number): string {
  const words = longText(40 + ((number * 37) % 120));
  const kinds = [list, table, code, math, quote];
  return `## Part ${number}

The part *${number}* begins with **${number * number}** and \`n = ${number}\`: ${words}.

${kinds[number % kinds.length] ?? quote}`;
}

const quote = `> Whoever quotes should say whom.
> 谁引用，谁就该说明出处。`;
