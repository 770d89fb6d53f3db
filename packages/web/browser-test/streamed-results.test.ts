import { defineAgent, defineTool } from "@deltawire/agent";
import { expect, test } from "vitest";
import { createSampleImage } from "@deltawire/demo";
import { getCallButton, waitForAnswers } from "./chat-actions.ts";
import { lastAnswer, sendMessage, setupBrowserFixture, takeScreenshot } from "./browser-fixture.ts";

/* Partial results of a running tool. */

/** The steps for which the tool waits. Each call of `next` lets it run one step. */
const steps: (() => void)[] = [];
const next = (): void => steps.shift()?.();

const paintHouse = defineTool<{ place: string }>({
  name: "paint_house",
  description: "Paints a house.",
  input: { type: "object", properties: { place: { type: "string" } }, required: ["place"] },
  effect: "pure",
  approval: { result: "never" },
  run: async ({ place }, { stream, signal }) => {
    const step = () =>
      new Promise<void>((resolve, reject) => {
        steps.push(resolve);
        signal.addEventListener("abort", () => reject(new Error("stopped")));
      });
    const media_type = "image/png";
    for (let line = 1; line <= 40; line += 1) stream.text(`Mixing color ${line} for ${place}.\n`);
    await step();
    const image = stream.image();
    await step();
    image.partial({ bytes: createSampleImage(place, { fraction: 0.5 }), media_type });
    await step();
    image.done({ bytes: createSampleImage(place), media_type });
    const file = stream.file({ filename: "colors.txt", media_type: "text/plain" });
    await step();
    file.done({ bytes: Buffer.from("blue, white") });
    stream.text("The paint dries.");
    await step();
    return { message_content: "The house is painted." };
  },
});
const painter = defineAgent({
  name: "painter",
  instructions: "You paint.",
  model: "lab/clean",
  tools: [paintHouse],
});

const fixture = setupBrowserFixture({ agents: [painter] });

test("text, image and file of a running tool are shown as they arrive, even after a reload", async () => {
  const tab = await (await fixture.newUser()).tab(await fixture.createChat({ agent: "painter" }));
  await sendMessage(tab, 'paint_house at "the sea"');
  const output = () => lastAnswer(tab).getByRole("group", { name: "Output of paint_house so far" });
  await output().getByText("Mixing color 40 for the sea.").waitFor();
  // The end of the output is in view.
  await expect
    .poll(() =>
      output().evaluate((box) => Math.round(box.scrollHeight - box.scrollTop - box.clientHeight)),
    )
    .toBeLessThan(2);
  await takeScreenshot(tab, "streamed-text");
  next();
  await lastAnswer(tab).getByText("Generating an image…").waitFor();
  await takeScreenshot(tab, "streamed-image-announced");
  next();
  const image = () => lastAnswer(tab).getByRole("img", { name: /^Image/ });
  await image().waitFor();
  const half = await image().getAttribute("src");
  await takeScreenshot(tab, "streamed-image-partial");
  await tab.reload();
  await output().getByText("Mixing color 40 for the sea.").waitFor();
  await image().waitFor();
  expect(await image().getAttribute("src")).toBe(half);
  next();
  await expect.poll(() => image().getAttribute("src")).not.toBe(half);
  // Expanded, it shows all blocks in order.
  await getCallButton(lastAnswer(tab), /^paint_house the sea Running/).click();
  await lastAnswer(tab).getByText("Generating a file…").waitFor();
  next();
  await lastAnswer(tab).getByRole("link", { name: "Download colors.txt" }).waitFor();
  await lastAnswer(tab).getByText("The paint dries.").waitFor();
  await takeScreenshot(tab, "streamed-unfolded");
  next();
  await waitForAnswers(tab, 1);
  expect(await output().count()).toBe(0);
  await getCallButton(lastAnswer(tab), /^paint_house the sea Done/).waitFor();
  expect(await lastAnswer(tab).innerText()).toContain("The house is painted.");
  expect(await image().count()).toBe(1);
  await tab.emulateMedia({ colorScheme: "dark" });
  await tab.setViewportSize({ width: 390, height: 844 });
  await takeScreenshot(tab, "streamed-done-phone-dark");
});

test("partial results stay when a tool is stopped, and an incomplete image is marked as incomplete", async () => {
  const tab = await (await fixture.newUser()).tab(await fixture.createChat({ agent: "painter" }));
  await sendMessage(tab, 'paint_house at "the lake"');
  await lastAnswer(tab).getByText("Mixing color 40 for the lake.").waitFor();
  next();
  await lastAnswer(tab).getByText("Generating an image…").waitFor();
  await lastAnswer(tab).getByRole("button", { name: "Stop", exact: true }).click();
  await getCallButton(lastAnswer(tab), /^paint_house the lake Canceled/).waitFor();
  await lastAnswer(tab).getByText("The image is incomplete.").first().waitFor();
  await takeScreenshot(tab, "streamed-stopped");
});
