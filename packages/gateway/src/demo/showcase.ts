/** Markdown that shows what a page or a terminal can draw, if the words ask for some. */
export function showcase(said: string): string | undefined {
  const words = said.slice(0, 4000);
  const long = /\blong (\d+)\b/i.exec(words)?.[1];
  if (long !== undefined) return longText(Math.min(Number(long), mostWords));
  const asked = parts.filter(({ when }) => when.test(words));
  return asked.length === 0 ? undefined : asked.map(({ text }) => text).join("\n\n");
}

const mostWords = 20_000;

const table = `| part | what it does |
| --- | --- |
| client | asks, on the wire that it knows |
| **gateway** | translates and mends |
| upstream | answers, on the wire that *it* knows |`;

const list = `What travels over the wire:

1. the words of the user
2. what the model thinks
   - as a summary
   - or as it was thought
3. calls of tools, and their results`;

const code = `\`\`\`ts
const reply = await fetch("http://127.0.0.1:4141/v1/responses", {
  method: "POST",
  body: JSON.stringify({ model: "demo/clean", input: "Hello" }),
});
\`\`\``;

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
];

function longText(count: number): string {
  const words = "this is a long answer of the demo model and it goes on word by word until".split(
    " ",
  );
  return Array.from({ length: count }, (_, at) => words[at % words.length] ?? "").join(" ");
}
