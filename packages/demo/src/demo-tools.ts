import { setTimeout as sleep } from "node:timers/promises";
import { defineTool } from "@deltawire/agent";
import { createSampleImage } from "./sample-media.ts";

/* Tools of the demo agents. Their effects are simulated, as the descriptions say. */

const stringSchema = { type: "string" };

export const getWeather = defineTool<{ city: string }>({
  name: "get_weather",
  description: "Returns the weather in a city. The data is invented: this is a demonstration.",
  input: createObjectSchema({ city: stringSchema }),
  effect: "pure",
  run: ({ city }) => {
    const content = JSON.stringify({ city, temperature: "15C", condition: "sunny" });
    const group = { type: "text", text: content, id: city, title: `The weather in ${city}` };
    return { message_content: [group], block_list: [group] };
  },
});

export const sendMessage = defineTool<{ to: string; text: string }>({
  name: "send_message",
  description: "Sends a message. Sending is simulated, but needs approval.",
  input: createObjectSchema({ to: stringSchema, text: stringSchema }),
  effect: "once",
  approval: "ask_always",
  run: ({ to }) => `The message to ${to} would have been sent. This is a demonstration.`,
});

export const drawPicture = defineTool<{ subject: string }>({
  name: "draw_picture",
  description: "Draws a small image. Only its colors depend on the subject.",
  input: createObjectSchema({ subject: stringSchema }),
  effect: "pure",
  run: ({ subject }) => {
    const group = { id: subject, title: `An image of ${subject}` };
    const imageBlock = {
      type: "image",
      bytes: createSampleImage(subject),
      media_type: "image/png",
    };
    const messageText = `A small image with colors for "${subject}". The user sees it.`;
    return {
      message_content: [{ type: "text", text: messageText, ...group }],
      block_list: [{ ...imageBlock, ...group }],
    };
  },
});

export const openPrivateNote = defineTool<{ name: string }>({
  name: "open_private_note",
  description:
    "Opens a private note. The note is invented, but the user must approve its content before the model sees it.",
  input: createObjectSchema({ name: stringSchema }),
  effect: "pure",
  approval: { result: "always" },
  run: ({ name }) =>
    `The note "${name}": the spare key is below the third flower pot. This is a demonstration.`,
});

const maxCount = 30;
const countIntervalMs = 500;

export const slowCount = defineTool<{ to: number }>({
  name: "slow_count",
  description: "Counts slowly, twice a second, and reports its progress.",
  input: createObjectSchema({ to: { type: "integer", minimum: 1, maximum: maxCount, default: 6 } }),
  effect: "pure",
  run: async ({ to }, context) => {
    for (let number = 1; number <= to; number += 1) {
      await sleep(countIntervalMs, undefined, { signal: context.signal });
      context.progress(`${number} of ${to}`, number / to);
    }
    return `Counted to ${to}.`;
  },
});

const wordIntervalMs = 40;
const imageSteps = 4;
const imageStepMs = 300;

export const writeReport = defineTool<{ subject: string }>({
  name: "write_report",
  description:
    "Writes a short report with an image and a file, which are shown while they are created. The content is invented: this is a demonstration.",
  input: createObjectSchema({ subject: stringSchema }),
  effect: "pure",
  run: async ({ subject }, { stream, signal }) => {
    const group = { id: subject, title: `A report about ${subject}` };
    const wait = (ms: number) => sleep(ms, undefined, { signal });
    for (const word of buildReport(subject).split(/(?<=\s)/)) {
      stream.text(word, group);
      await wait(wordIntervalMs);
    }
    const image = stream.image(group);
    for (let step = 1; step < imageSteps; step += 1) {
      await wait(imageStepMs);
      const bytes = createSampleImage(subject, { fraction: step / imageSteps });
      image.partial({ bytes, media_type: "image/png" });
    }
    await wait(imageStepMs);
    image.done({ bytes: createSampleImage(subject), media_type: "image/png" });
    const file = stream.file({ filename: "report.txt", media_type: "text/plain" });
    file.done({ bytes: Buffer.from(buildReport(subject)) });
    // The image and the file are for the user only.
    return { message_content: [{ type: "text", text: `Reported on ${subject}.`, ...group }] };
  },
});

function buildReport(subject: string): string {
  return `A report about ${subject}

1. Subject: ${subject}, from all sides.
2. Result: nothing is real, but everything was written word by word.
3. Next: an image that is painted row by row, and this report as a file.
`;
}

export const failOnPurpose = defineTool<{ reason: string }>({
  name: "fail_on_purpose",
  description: "Always fails, to show what that looks like.",
  input: createObjectSchema({ reason: stringSchema }),
  effect: "pure",
  run: ({ reason }) => {
    throw new Error(`failed on purpose: ${reason}`);
  },
});

/** Builds a schema with all properties required. */
function createObjectSchema(
  properties: Record<string, { type: string; [keyword: string]: string | number }>,
) {
  return {
    type: "object",
    properties,
    required: Object.keys(properties),
    additionalProperties: false,
  };
}
