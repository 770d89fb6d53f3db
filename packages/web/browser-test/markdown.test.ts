import { expect, test } from "vitest";
import { waitForAnswers } from "./chat-actions.ts";
import { sendMessage, setupBrowserFixture, takeScreenshot } from "./browser-fixture.ts";

/* Formulas, footnotes and the supported HTML tags. */

const fixture = setupBrowserFixture();

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
  "arrows in formulas, footnotes, tags, comments and entities are rendered (%s)",
  async (colorScheme) => {
    const tab = await (await fixture.newUser({ colorScheme })).tab(await fixture.createChat());
    await sendMessage(tab, `say exactly\n~~~\n${text}\n~~~`);
    const answer = await waitForAnswers(tab, 1);
    // Without the width in its style attribute, an arrow would be invisible.
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

    const details = answer.locator(".markdown details");
    expect(await details.locator("li").first().isVisible()).toBe(false);
    await details.getByText("More about it").click();
    expect(await details.locator("li").allInnerTexts()).toEqual(["one", "two"]);

    const footnoteLink = answer.getByRole("link", { name: "Footnote note" });
    await footnoteLink.click();
    const footnote = answer.getByRole("note").filter({ hasText: "The other one." });
    await expect.poll(() => footnote.evaluate((one) => one === document.activeElement)).toBe(true);
    await takeScreenshot(tab, `markdown-${colorScheme}`);
    await footnote.getByRole("link", { name: "Back to text" }).click();
    await expect
      .poll(() => footnoteLink.evaluate((one) => one === document.activeElement))
      .toBe(true);
  },
);
