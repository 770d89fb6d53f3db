/* Samples of Markdown elements. */

export const sampleTable = `| part | what it does |
| --- | --- |
| client | sends requests in its own format |
| **gateway** | translates and repairs |
| upstream | replies in *its* format |`;

export const sampleList = `Sent over the wire:

1. the user's messages
2. the model's reasoning
   - as a summary
   - or in full
3. tool calls and their results`;

export const sampleCode = `\`\`\`ts
const reply = await fetch("http://127.0.0.1:4141/v1/responses", {
  method: "POST",
  body: JSON.stringify({ model: "demo/clean", input: "Hello" }),
});
\`\`\``;

export const sampleMath = String.raw`The hypotenuse of a right triangle with legs $a$ and $b$ is $c = \sqrt{a^2 + b^2}$. And the area under a bell curve:

$$
\int_{-\infty}^{\infty} e^{-x^2} \, dx = \sqrt{\pi}
$$`;
