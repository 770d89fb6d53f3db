import { expect, test } from "vitest";
import { endedAnswers } from "./in-chat.ts";
import { say, staged, takePicture } from "./stage.ts";

/* Markdown that is more than text: formulas, footnotes, and the few tags that mean something. */

const stage = staged();

const text = String.raw`The force $\vec{F} = m\,\vec{a}$ and $$\overrightarrow{AB} + \widehat{xyz} + \sqrt{x}$$ in one line.

Water is H<sub>2</sub>O, energy mc<sup>2</sup>; press <kbd>Ctrl</kbd>+<kbd>C</kbd>. <!-- nobody reads this -->

It is known[^1], and named[^note]. &copy; &Eacute;t&eacute; &#8594; &#x1F600; &nosuch; <b>no tag</b>

<details>
<summary>More **about** it</summary>

- one
- two

</details>

<!-- nor
this -->

[^1]: The **first** footnote.
[^note]: The other one.`;

test.each(["light", "dark"] as const)(
  "formulas have their arrows, and footnotes, tags, comments and entities are what they mean: %s",
  async (colorScheme) => {
    const tab = await (await stage.person({ colorScheme })).tab(await stage.chat());
    await say(tab, `say exactly\n~~~\n${text}\n~~~`);
    const answer = await endedAnswers(tab, 1);
    // The style of an arrow is its width: without it there is none to be seen.
    const vector = answer.locator(".katex-overlay svg").first();
    await vector.waitFor();
    const { width, height, style } = await vector.evaluate((svg: SVGElement) => ({
      width: svg.getBoundingClientRect().width,
      height: svg.getBoundingClientRect().height,
      style: svg.style.width,
    }));
    expect(style).toMatch(/em$/);
    expect(width).toBeGreaterThan(3);
    expect(width).toBeLessThan(30);
    expect(height).toBeGreaterThan(3);

    expect(await answer.locator(".markdown sub").first().innerText()).toBe("2");
    expect(await answer.locator(".markdown kbd").allInnerTexts()).toEqual(["Ctrl", "C"]);
    const words = await answer.locator(".markdown").innerText();
    expect(words).toContain("© Été → 😀 &nosuch; <b>no tag</b>");
    expect(words).not.toMatch(/nobody reads|nor\s+this|<!--|\[\^/);

    const fold = answer.locator(".markdown details");
    expect(await fold.locator("li").first().isVisible()).toBe(false);
    await fold.getByText("More about it").click();
    expect(await fold.locator("li").allInnerTexts()).toEqual(["one", "two"]);

    const mark = answer.getByRole("link", { name: "Footnote note" });
    await mark.click();
    const note = answer.getByRole("note").filter({ hasText: "The other one." });
    await expect.poll(() => note.evaluate((one) => one === document.activeElement)).toBe(true);
    await takePicture(tab, `markdown-${colorScheme}`);
    await note.getByRole("link", { name: "Back to the text" }).click();
    await expect.poll(() => mark.evaluate((one) => one === document.activeElement)).toBe(true);
  },
);
