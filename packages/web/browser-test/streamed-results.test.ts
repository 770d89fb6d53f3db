import { defineAgent, defineTool } from "@deltawire/agent";
import { expect, test } from "vitest";
import { pictureFor } from "@deltawire/demo";
import { callLine, endedAnswers } from "./in-chat.ts";
import { lastAnswer, say, staged, takePicture } from "./stage.ts";

/* What a tool adds to its result while it runs. */

/** Each call of `next` lets the tool go one step further. */
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
    for (let line = 1; line <= 40; line += 1) stream.text(`Mixing colour ${line} for ${place}.\n`);
    await step();
    const image = stream.image();
    await step();
    image.partial({ bytes: pictureFor(place, { share: 0.5 }), media_type });
    await step();
    image.done({ bytes: pictureFor(place), media_type });
    const file = stream.file({ filename: "colours.txt", media_type: "text/plain" });
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

const stage = staged({ agents: [painter] });

test("a running tool's text, image and file are seen as they come, also after a reload", async () => {
  const tab = await (await stage.person()).tab(await stage.chat({ agent: "painter" }));
  await say(tab, 'paint_house at "the sea"');
  const output = () => lastAnswer(tab).getByRole("group", { name: "Output of paint_house so far" });
  await output().getByText("Mixing colour 40 for the sea.").waitFor();
  // The end of it is in view.
  await expect
    .poll(() =>
      output().evaluate((box) => Math.round(box.scrollHeight - box.scrollTop - box.clientHeight)),
    )
    .toBeLessThan(2);
  await takePicture(tab, "streamed-text");
  next();
  await lastAnswer(tab).getByText("An image is being made…").waitFor();
  await takePicture(tab, "streamed-image-announced");
  next();
  const image = () => lastAnswer(tab).getByRole("img", { name: /Picture/ });
  await image().waitFor();
  const half = await image().getAttribute("src");
  await takePicture(tab, "streamed-image-partial");
  await tab.reload();
  await output().getByText("Mixing colour 40 for the sea.").waitFor();
  await image().waitFor();
  expect(await image().getAttribute("src")).toBe(half);
  next();
  await expect.poll(() => image().getAttribute("src")).not.toBe(half);
  // Unfolded it has all blocks in their order.
  await callLine(lastAnswer(tab), /^paint_house the sea Running/).click();
  await lastAnswer(tab).getByText("A file is being made…").waitFor();
  next();
  await lastAnswer(tab).getByRole("link", { name: "Download colours.txt" }).waitFor();
  await lastAnswer(tab).getByText("The paint dries.").waitFor();
  await takePicture(tab, "streamed-unfolded");
  next();
  await endedAnswers(tab, 1);
  expect(await output().count()).toBe(0);
  await callLine(lastAnswer(tab), /^paint_house the sea Done/).waitFor();
  expect(await lastAnswer(tab).innerText()).toContain("The house is painted.");
  expect(await image().count()).toBe(1);
  await tab.emulateMedia({ colorScheme: "dark" });
  await tab.setViewportSize({ width: 390, height: 844 });
  await takePicture(tab, "streamed-done-phone-dark");
});

test("what a tool has shown stays when it is stopped, and an image that never came is said to be unfinished", async () => {
  const tab = await (await stage.person()).tab(await stage.chat({ agent: "painter" }));
  await say(tab, 'paint_house at "the lake"');
  await lastAnswer(tab).getByText("Mixing colour 40 for the lake.").waitFor();
  next();
  await lastAnswer(tab).getByText("An image is being made…").waitFor();
  await tab.getByRole("button", { name: "Stop", exact: true }).click();
  await callLine(lastAnswer(tab), /^paint_house the lake Canceled/).waitFor();
  await lastAnswer(tab).getByText("This image was not finished.").first().waitFor();
  await takePicture(tab, "streamed-stopped");
});
