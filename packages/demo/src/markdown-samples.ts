/* What Markdown is made of, a little of each. */

export const table = `| part | what it does |
| --- | --- |
| client | asks, on the wire that it knows |
| **gateway** | translates and mends |
| upstream | answers, on the wire that *it* knows |`;

export const list = `What travels over the wire:

1. the words of the user
2. what the model thinks
   - as a summary
   - or as it was thought
3. calls of tools, and their results`;

export const code = `\`\`\`ts
const reply = await fetch("http://127.0.0.1:4141/v1/responses", {
  method: "POST",
  body: JSON.stringify({ model: "demo/clean", input: "Hello" }),
});
\`\`\``;

export const math = String.raw`Of a right triangle with the sides $a$ and $b$ the third is $c = \sqrt{a^2 + b^2}$. And the area below a bell:

$$
\int_{-\infty}^{\infty} e^{-x^2} \, dx = \sqrt{\pi}
$$`;
